// Pages before they have data, and when they get none.
import { useSignal } from '@preact/signals'
import type { QueryObserverResult } from '@tanstack/query-core'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { RequestError } from '../data/request.ts'
import { Button } from './button.tsx'
import { Glyph } from './glyph.tsx'

const patienceMs = 200

/** Draws data once it is there. Old data stays on screen while new data is read, and when the read fails. */
export function Loaded<Data>({
  query,
  children,
}: {
  query: QueryObserverResult<Data, Error>
  children: (data: Data) => ComponentChildren
}): VNode {
  if (query.data !== undefined) return <>{children(query.data)}</>
  if (query.error) return <Failure error={query.error} onRetry={() => void query.refetch()} />
  return <Skeleton />
}

export function Skeleton(): VNode | null {
  const isShown = useSignal(false)
  useEffect(() => {
    const timer = setTimeout(() => {
      isShown.value = true
    }, patienceMs)
    return () => clearTimeout(timer)
  }, [])
  if (!isShown.value) return <div class="skeleton-room" aria-busy="true" />
  return (
    <section class="card body stack" aria-busy="true" aria-label="Loading">
      {[60, 90, 75, 82, 40].map((share) => (
        <svg key={share} width="100%" height="16" aria-hidden="true">
          <rect class="skeleton" width={`${share}%`} height="16" rx="4" />
        </svg>
      ))}
    </section>
  )
}

const advice: Readonly<Record<string, string>> = {
  'server.unreachable': 'Check that the process of `punctual serve`, or your own, still runs. This page tries again by itself.',
  'store.unreachable': 'The server answers, but its store does not. Check the database; this page tries again by itself.',
  'access.refused': 'Your role may not see this. Ask an admin for a token with a higher role.',
  'job.unknown': 'It may have been renamed, or belongs to another tenant.',
  'occurrence.unknown': 'It may have been pruned by its retention, or belongs to another tenant.',
}

export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }): VNode {
  const code = error instanceof RequestError ? error.code : 'unknown'
  return (
    <section class="card err" role="alert">
      <header>
        <Glyph mark="failed" />
        <h2>{error.message}</h2>
        <div class="end">
          <span class="dim mono">{code}</span>
          {onRetry && (
            <Button isSmall icon="retry" onClick={onRetry}>
              Try again
            </Button>
          )}
        </div>
      </header>
      {advice[code] && <p class="body sec">{advice[code]}</p>}
    </section>
  )
}

/** A list without rows: what would stand here, and how it gets there. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="nothing">
      <svg width="120" height="32" viewBox="0 0 120 32" aria-hidden="true">
        <path class="rule" d="M0 16.5H120" />
        <rect class="m-completed" x="8" y="10" width="16" height="12" rx="2" />
        <path class="now" d="M60 2V30" />
        <rect class="m-pending" x="78" y="10" width="10" height="12" rx="2" />
        <rect class="m-pending" x="100" y="10" width="10" height="12" rx="2" />
      </svg>
      <p class="strong">{title}</p>
      {children && <p class="dim">{children}</p>}
    </div>
  )
}
