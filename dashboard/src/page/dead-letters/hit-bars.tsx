import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Button } from '../../part/button.tsx'

const shown = 6

/** How often each is hit, the most first. */
export function HitBars({
  label,
  hits,
  hrefOf,
}: {
  label: string
  hits: readonly { readonly name: string; readonly count: number }[]
  hrefOf?: (name: string) => string
}): VNode | null {
  const isOpen = useSignal(false)
  if (hits.length === 0) return null
  const top = Math.max(...hits.map(({ count }) => count))
  return (
    <div class="hits">
      <p class="dim hint">{label}</p>
      {hits.slice(0, isOpen.value ? hits.length : shown).map(({ name, count }) => (
        <div class="hbar" key={name}>
          {hrefOf ? (
            <a class="ell link" href={hrefOf(name)}>
              {name}
            </a>
          ) : (
            <span class="ell">{name}</span>
          )}
          <svg width="100%" height="8" aria-hidden="true">
            <rect class="m-idle" width={`${(count / top) * 100}%`} height="8" rx="2" />
          </svg>
          <b>{count}</b>
        </div>
      ))}
      {hits.length > shown && !isOpen.value && (
        <Button
          kind="ghost"
          isSmall
          onClick={() => {
            isOpen.value = true
          }}
        >
          {hits.length - shown} more
        </Button>
      )}
    </div>
  )
}
