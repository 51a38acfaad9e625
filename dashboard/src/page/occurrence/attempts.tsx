import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { At } from '../../part/time.tsx'

/** Every attempt that failed, the newest first; the newest stands in the error above. */
export function Attempts({ occurrence }: { occurrence: WireOccurrence }): VNode | null {
  const rows = occurrence.tasks.flatMap((task) => task.attempts.map((attempt) => ({ ...attempt, task: task.name })))
  const failed = rows.filter(({ error }) => error !== null)
  if (failed.length < 2) return null
  return (
    <section class="card" aria-label="Attempts">
      <header>
        <h2>Attempts</h2>
        <span class="dim">{failed.length} failed</span>
      </header>
      <div class="log">
        {failed.toReversed().map((attempt) => (
          <div key={attempt.id}>
            <span class="dim">{attempt.endedAt && <At at={attempt.endedAt} seconds />}</span>
            <span class="e">{attempt.state}</span>
            <span class="dim">#{attempt.n}</span>
            <span>
              {occurrence.tasks.length > 1 && <b>{attempt.task}: </b>}
              {attempt.error?.message}
            </span>
          </div>
        ))}
      </div>
    </section>
  )
}
