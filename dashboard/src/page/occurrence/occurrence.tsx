import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { CancelDialog, DiscardDialog, ReplayDialog, RescheduleDialog, RetryDialog } from '../../action/occurrence-actions.tsx'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { may } from '../../data/session.ts'
import { TaskGraph } from '../../drawing/task-graph.tsx'
import { Waterfall } from '../../drawing/waterfall.tsx'
import { useAsked } from '../../part/asked.ts'
import { ErrorCard } from '../../part/error-view.tsx'
import { Loaded } from '../../part/screen.tsx'
import { useKeys } from '../../shell/keys.ts'
import { nameOccurrence } from '../../shell/title.ts'
import { Attempts } from './attempts.tsx'
import { Facts } from './facts.tsx'
import { type Asked, Head, isLive } from './head.tsx'
import { Log } from './log.tsx'
import { Payload, Result } from './values.tsx'
import { Why } from './why.tsx'

export function Occurrence({ id }: { id: string }): VNode {
  const query = useQuery({ key: ['occurrence', id], read: (signal) => api.occurrence(id, signal), everyMs: whileRunning })
  return <Loaded query={query}>{(data) => <OccurrencePage occurrence={data} />}</Loaded>
}

/** Log lines and progress of a running handler change without an event. */
function whileRunning(occurrence: WireOccurrence | undefined): number | false {
  return occurrence?.state === 'running' && 1000
}

function OccurrencePage({ occurrence }: { occurrence: WireOccurrence }): VNode {
  const { id, job, state, error } = occurrence
  const key = occurrence.key ?? occurrence.idempotencyKey
  nameOccurrence(id, key ? `${job} · ${key}` : job)
  const { value: asked, ask, close } = useAsked<Asked>()
  useKeys(
    (state === 'dead' && may('occurrences.retry')
      ? { r: ask('retry') }
      : !isLive(state) && may('occurrences.replay')
        ? { r: ask('replay') }
        : {}) as Record<string, () => void>,
  )
  const failed = occurrence.tasks
    .flatMap((task) =>
      task.attempts
        .filter((attempt) => attempt.error)
        .map((attempt) => ({ task: task.name, n: attempt.n, error: attempt.error! })),
    )
    .at(-1)
  // Work that never started has nothing to draw: the reason is the page.
  const isNeverRun = !isLive(state) && !occurrence.startedAt
  const main = error ?? (state === 'retrying' ? failed?.error : null)
  return (
    <>
      <Head occurrence={occurrence} ask={ask} />
      <div class="cols cols-main occ">
        <div class="stack">
          {main && (
            <ErrorCard
              error={main.stack ? main : (failed?.error ?? main)}
              where={failed ? `${failed.task}, attempt ${failed.n}` : ''}
            />
          )}
          {isNeverRun && <Why occurrence={occurrence} />}
          <Waterfall occurrence={occurrence} />
          <TaskGraph
            tasks={occurrence.tasks}
            mode={String(
              occurrence.settings?.mode ?? (occurrence.tasks.some(({ after }) => after?.length) ? 'graph' : 'sequential'),
            )}
            version={occurrence.version}
          />
          <Log occurrence={occurrence} />
          <Attempts occurrence={occurrence} />
        </div>
        <div class="stack">
          {!isNeverRun && <Why occurrence={occurrence} />}
          <Facts occurrence={occurrence} />
          <Payload occurrence={occurrence} />
          <Result occurrence={occurrence} />
        </div>
      </div>
      {asked === 'retry' && <RetryDialog occurrence={occurrence} onClose={close} />}
      {asked === 'discard' && <DiscardDialog occurrence={occurrence} onClose={close} />}
      {asked === 'cancel' && <CancelDialog occurrence={occurrence} onClose={close} />}
      {asked === 'replay' && <ReplayDialog occurrence={occurrence} onClose={close} />}
      {asked === 'reschedule' && <RescheduleDialog occurrence={occurrence} onClose={close} />}
    </>
  )
}
