import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { WireJob } from '../../../../src/http/wire.ts'
import {
  BackfillDialog,
  EnableDialog,
  PauseDialog,
  ResetDialog,
  ResumeDialog,
  RetireDialog,
  TriggerDialog,
} from '../../action/job-actions.tsx'
import { api } from '../../data/api.ts'
import { counted } from '../../data/count.ts'
import { jobShape, jobStateText, mainMark, workOf } from '../../data/marks.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { wordsOf } from '../../data/schedule-words.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Dots } from '../../part/dots.tsx'
import { Badge, Glyph } from '../../part/glyph.tsx'
import { Menu } from '../../part/menu.tsx'
import { Loaded } from '../../part/screen.tsx'
import { Ago, At } from '../../part/time.tsx'
import { useKeys } from '../../shell/keys.ts'
import { duration } from '../../time/duration.ts'
import { now } from '../../time/zone.ts'
import { clockChanges, clockText, dayText, offsetText } from '../../time/zoned.ts'
import { TimelineCard } from '../timeline-card.tsx'
import { Durations } from './durations.tsx'
import { JobRuns } from './job-runs.tsx'
import { ScheduleEditor } from './schedule-editor.tsx'
import { Versions } from './versions.tsx'

export function Job({ tenant, name }: { tenant: string; name: string }): VNode {
  const job = useQuery({ key: ['job', tenant, name], read: (signal) => api.job({ tenant, name }, signal) })
  return <Loaded query={job}>{(data) => <JobPage job={data} />}</Loaded>
}

type Asked = 'trigger' | 'pause' | 'resume' | 'backfill' | 'retire' | 'reset' | 'enable'

function JobPage({ job }: { job: WireJob }): VNode {
  const { query, path, route } = useLocation()
  const asked = useSignal<Asked | null>(null)
  const close = () => {
    asked.value = null
  }
  // The palette names a dialog of the page in its address.
  useEffect(() => {
    const wanted = query.do
    if (!wanted) return
    route(path, true)
    if (wanted === 'edit') editSchedule()
    else if (wanted === 'trigger' || wanted === 'backfill') asked.value = wanted
    else if (wanted === 'pause') asked.value = job.paused ? 'resume' : 'pause'
  }, [query.do])
  const ask = (what: Asked) => () => {
    asked.value = what
  }
  useKeys({
    ...(may('jobs.trigger') && { t: ask('trigger') }),
    ...(may('jobs.pause') && { p: ask(job.paused ? 'resume' : 'pause') }),
    e: editSchedule,
  } as Record<string, () => void>)
  return (
    <>
      <Head job={job} ask={ask} />
      <Facts job={job} />
      <TimelineCard
        spans={['24h', '7d', '30d']}
        fallback={spanFor(job)}
        job={{ ...workOf(job), name: job.name, timezone: job.schedule?.timezone ?? null }}
      />
      {job.schedule && <ScheduleEditor key={job.version} job={job} onReset={ask('reset')} />}
      <div class="cols cols-2">
        <div class="stack">
          <Versions job={job} />
          <Durations job={job} />
        </div>
        <JobRuns job={job} />
      </div>
      {asked.value === 'trigger' && <TriggerDialog job={job} onClose={close} />}
      {asked.value === 'pause' && <PauseDialog job={job} onClose={close} />}
      {asked.value === 'resume' && <ResumeDialog job={job} onClose={close} />}
      {asked.value === 'backfill' && <BackfillDialog job={job} onClose={close} />}
      {asked.value === 'retire' && <RetireDialog job={job} onClose={close} />}
      {asked.value === 'reset' && <ResetDialog job={job} onClose={close} />}
      {asked.value === 'enable' && <EnableDialog job={job} isEnabled={job.enabled} onClose={close} />}
    </>
  )
}

function editSchedule(): void {
  document.querySelector<HTMLElement>('#edit-schedule input')?.focus()
}

/** A week for what runs a few times a day, a day for the rest. */
function spanFor({ recent }: WireJob): '24h' | '7d' {
  const [first, last] = [recent[0], recent.at(-1)]
  if (!first || !last || recent.length < 3) return '7d'
  return (Date.parse(last.scheduledAt) - Date.parse(first.scheduledAt)) / recent.length < 2 * 3_600_000 ? '24h' : '7d'
}

function Head({ job, ask }: { job: WireJob; ask: (what: Asked) => () => void }): VNode {
  const declared = job.declaredBy.map(({ node }) => node)
  const release = job.release === null ? '' : `, release ${job.release}`
  return (
    <div class="head">
      <div class="min-w-0">
        <h1>
          <span class="ell">{job.name}</span> <Badge mark={jobShape(mainMark(job.marks))} text={jobStateText(job)} />
          {job.overridden.length > 0 && <Badge mark="hand" text={`${job.overridden.join(', ')} changed by hand`} />}
        </h1>
        <p class="sub">
          {job.shared ? 'all tenants' : job.tenant} · {counted(job.taskGraph.length, 'task')} ·{' '}
          {declared.length > 0
            ? `declared by code${release}, on ${list(declared)}`
            : job.retired
              ? 'retired'
              : 'no live node declares it'}
        </p>
      </div>
      <div class="end">
        {may('jobs.trigger') && (
          <Button icon="play" onClick={ask('trigger')}>
            Trigger…
          </Button>
        )}
        {may('jobs.pause') && (
          <Button icon={job.paused ? 'play' : 'pause'} onClick={ask(job.paused ? 'resume' : 'pause')}>
            {job.paused ? 'Resume…' : 'Pause…'}
          </Button>
        )}
        {may('operations.start') && job.schedule && (
          <Button icon="fill" onClick={ask('backfill')}>
            Backfill…
          </Button>
        )}
        <Menu
          items={[
            ['All occurrences', pagePath('occurrences', { job: job.name, ...workOf(job) })],
            ...(may('jobs.update') ? ([[job.enabled ? 'Disable…' : 'Enable…', ask('enable')]] as const) : []),
            ...(may('jobs.reset') && job.overridden.length > 0 ? ([['Reset to code…', ask('reset')]] as const) : []),
            ...(may('jobs.retire') && !job.retired ? ([['Retire…', ask('retire')]] as const) : []),
          ]}
        />
      </div>
    </div>
  )
}

function list(names: readonly string[]): string {
  return names.length > 3 ? `${names.slice(0, 2).join(', ')} and ${names.length - 2} more` : names.join(', ')
}

function Facts({ job }: { job: WireJob }): VNode {
  const zone = job.schedule?.timezone ?? 'UTC'
  const last = job.recent.at(-1)
  const missed = job.recent.filter(({ state }) => state === 'missed').length
  const { overlap, recovery, retry, executionTimeoutMs } = job.settings as {
    overlap?: string
    recovery?: string | { strategy: string }
    retry?: { max?: number }
    executionTimeoutMs?: number
  }
  return (
    <section class="card" aria-label="Facts">
      <dl class="facts">
        <div>
          <dt>Schedule</dt>
          <dd>
            {job.schedule ? wordsOf(job.schedule) : 'When enqueued'}
            <small class="mono">{job.schedule?.text ?? 'no schedule'}</small>
          </dd>
        </div>
        <div>
          <dt>Zone</dt>
          <dd>
            {zone}
            <small>{zoneHint(zone)}</small>
          </dd>
        </div>
        <div>
          <dt>Next</dt>
          <dd>
            {job.nextRun ? <At at={job.nextRun} zone={zone} /> : job.pending > 0 ? `${job.pending} to come` : 'none'}
            <small>
              {job.nextRun && (
                <>
                  <Ago at={job.nextRun} isAhead /> · {clockText(Date.parse(job.nextRun), 'UTC')} UTC
                </>
              )}
            </small>
          </dd>
        </div>
        <div>
          <dt>Last</dt>
          <dd>
            {last ? (
              <a class={`st s-${last.state}`} href={pagePath(`occurrences/${last.id}`)}>
                <Glyph mark={last.state} label={last.state} />
                <At at={last.scheduledAt} zone={zone} />
              </a>
            ) : (
              'never'
            )}
            <small>
              {last && (
                <>
                  <Ago at={last.endedAt ?? last.scheduledAt} />
                  {last.tookMs !== null && (
                    <>
                      {' '}
                      · <span class="nw">took {duration(last.tookMs)}</span>
                    </>
                  )}
                </>
              )}
            </small>
          </dd>
        </div>
        <div>
          <dt>Overlap · recovery</dt>
          <dd>
            {overlap ?? 'skip'} · {typeof recovery === 'object' ? recovery.strategy : (recovery ?? 'all')}
            <small>
              {counted(retry?.max ?? 0, 'retry', 'retries')}
              {typeof executionTimeoutMs === 'number' && `, timeout ${duration(executionTimeoutMs)}`}
            </small>
          </dd>
        </div>
        <div>
          <dt>Last 20</dt>
          <dd>
            <Dots runs={job.recent} />
            <small>
              {job.completedShare !== null && `${Math.round(job.completedShare * 100)} % completed`}
              {missed > 0 && `, ${missed} missed`}
              {job.p50Ms !== null && `, p50 ${duration(job.p50Ms)}`}
            </small>
          </dd>
        </div>
      </dl>
    </section>
  )
}

/** The offset now, and the next one if the clock is changed within half a year. */
function zoneHint(zone: string): string {
  const at = now.value
  const [change] = clockChanges(at, at + 190 * 86_400_000, zone)
  const current = offsetText(at, zone)
  return change
    ? `${current}, from ${dayText(change.at, zone, at)} ${offsetText(change.at + 3_600_000, zone)}`
    : `${current} all year`
}
