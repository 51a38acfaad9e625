import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { counted } from '../../data/count.ts'
import { Button } from '../../part/button.tsx'
import { ErrorFrames } from '../../part/error-view.tsx'
import { At } from '../../part/time.tsx'
import { nodeOf } from './turn-node.ts'

const shown = 20

/** Every attempt that failed, the newest first, with its node and stack. The newest is open in the error above. */
export function Attempts({ occurrence }: { occurrence: WireOccurrence }): VNode | null {
  const isOpen = useSignal(false)
  const rows = occurrence.tasks.flatMap((task) => task.attempts.map((attempt) => ({ ...attempt, task: task.name })))
  const failed = rows.filter(({ error }) => error !== null).toReversed()
  if (failed.length < 2) return null
  const nodes = new Map(occurrence.turns.map((turn) => [turn.turn, nodeOf(turn)]))
  return (
    <section class="card" aria-label="Attempts">
      <header>
        <h2>Attempts</h2>
        <span class="dim">{failed.length} failed</span>
      </header>
      <div class="log attempts">
        {failed.slice(0, isOpen.value ? failed.length : shown).map((attempt) => (
          <details key={attempt.id}>
            <summary>
              <span class="dim">{attempt.endedAt && <At at={attempt.endedAt} seconds />}</span>
              <span class="e">{attempt.state}</span>
              <span class="dim">#{attempt.n}</span>
              <span class="wrap-any">
                {occurrence.tasks.length > 1 && <b>{attempt.task}: </b>}
                {attempt.error?.message}
              </span>
              <span class="dim nw only-desk">{nodes.get(attempt.turn)}</span>
            </summary>
            {attempt.error && (
              <pre class="stacktrace" tabIndex={0}>
                <ErrorFrames error={attempt.error} />
              </pre>
            )}
          </details>
        ))}
        {failed.length > shown && !isOpen.value && (
          <p class="more-rows">
            <Button
              isSmall
              onClick={() => {
                isOpen.value = true
              }}
            >
              Show {counted(failed.length - shown, 'older attempt')}
            </Button>
          </p>
        )}
      </div>
    </section>
  )
}
