import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireJobLine, WireJobMark } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { countText } from '../../data/count.ts'
import { jobShape, jobStateText, mainMark } from '../../data/marks.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { wordsOf } from '../../data/schedule-words.ts'
import { tenant } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Dots } from '../../part/dots.tsx'
import { Glyph, State } from '../../part/glyph.tsx'
import { Icon } from '../../part/icon.tsx'
import { useCursor } from '../../part/list-keys.ts'
import { Empty, Loaded } from '../../part/screen.tsx'
import { TenantSelect } from '../../part/tenant-select.tsx'
import { Ago, At } from '../../part/time.tsx'
import { useKeys } from '../../shell/keys.ts'
import { duration } from '../../time/duration.ts'
import { pageZone, zoneMode } from '../../time/zone.ts'

const chips: readonly WireJobMark[] = ['late', 'failing', 'missed', 'running', 'paused', 'overridden', 'orphaned', 'disabled']
const chipText: Readonly<Partial<Record<WireJobMark, string>>> = { overridden: 'Changed by hand' }
const pageSize = 50

export const jobPath = ({ tenant: owner, name }: { tenant: string; name: string }) =>
  pagePath(`jobs/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`)

export function Jobs(): VNode {
  const { query, route } = useLocation()
  const mark = query.mark ?? ''
  const search = query.search ?? ''
  const cursor = query.cursor ?? ''
  const jobs = useQuery({
    key: ['jobs', tenant.value, mark, search, cursor],
    read: (signal) => api.jobs({ mark, search, cursor, limit: pageSize, tenant: tenant.value }, signal),
    keepsLast: true,
  })
  const first = useQuery({
    key: ['jobs', tenant.value, 'marks'],
    read: (signal) => api.jobs({ limit: 1, tenant: tenant.value }, signal),
    isEnabled: Boolean(mark || search || cursor),
  })
  const marks = jobs.data?.marks && !mark && !search ? jobs.data.marks : (first.data?.marks ?? jobs.data?.marks ?? {})
  const typed = useSignal(search)
  const go = (next: Record<string, string | undefined>) => route(pagePath('jobs', { mark, search, ...next }), true)
  useKeys({ '/': () => document.querySelector<HTMLInputElement>('#job-search')?.focus() })
  return (
    <>
      <div class="row wrap between">
        <div class="chips" role="group" aria-label="Jobs by state">
          <button type="button" class="chip" aria-pressed={mark === ''} onClick={() => go({ mark: undefined })}>
            All <span class="n">{countText(marks.total ?? marks.all ?? 0)}</span>
          </button>
          {chips
            .filter((one) => (marks[one] ?? 0) > 0 || mark === one)
            .map((one) => (
              <button
                type="button"
                key={one}
                class="chip"
                aria-pressed={mark === one}
                onClick={() => go({ mark: mark === one ? undefined : one })}
              >
                <Glyph mark={jobShape(one)} />
                {chipText[one] ?? one[0]!.toUpperCase() + one.slice(1)} <span class="n">{countText(marks[one] ?? 0)}</span>
              </button>
            ))}
        </div>
        <div class="row">
          <TenantSelect />
          <input
            id="job-search"
            class="in short"
            type="search"
            placeholder="Part of a name"
            aria-label="Search jobs by name"
            value={typed.value}
            onInput={(event) => {
              typed.value = event.currentTarget.value
              go({ search: typed.value || undefined })
            }}
          />
        </div>
      </div>
      <Loaded query={jobs}>
        {({ items, cursor: next }) => (
          <section class="card" aria-label="Jobs">
            {items.length === 0 ? (
              <Empty title={mark || search ? 'No job matches.' : 'No job is declared.'}>
                {mark || search
                  ? 'Take a filter away to see more.'
                  : 'A job appears here as soon as a node declares it with defineJob.'}
              </Empty>
            ) : (
              <JobTable items={next || cursor ? items : items.toSorted(byAttention)} />
            )}
            {(next || cursor) && (
              <div class="pager">
                <span class="dim">{items.length} shown, by name</span>
                <span class="row">
                  {cursor && <Button onClick={() => history.back()}>Back</Button>}
                  {next && <Button onClick={() => route(pagePath('jobs', { mark, search, cursor: next }))}>More</Button>}
                </span>
              </div>
            )}
          </section>
        )}
      </Loaded>
    </>
  )
}

const attentionOrder: readonly WireJobMark[] = [
  'failing',
  'late',
  'missed',
  'running',
  'waiting',
  'paused',
  'orphaned',
  'disabled',
]

/** Trouble first, then the soonest. Only a list that is there as a whole is sorted: pages of many jobs go by name. */
function byAttention(a: WireJobLine, b: WireJobLine): number {
  const rank = ({ marks }: WireJobLine) => {
    const at = attentionOrder.indexOf(mainMark(marks))
    return at === -1 ? attentionOrder.length : at
  }
  return rank(a) - rank(b) || (a.nextRun ?? '~').localeCompare(b.nextRun ?? '~')
}

function JobTable({ items }: { items: readonly WireJobLine[] }): VNode {
  const { route } = useLocation()
  const at = useCursor(items.length, (index) => items[index] && route(jobPath(items[index])))
  return (
    <table class="tbl cards jobs">
      <thead>
        <tr>
          <th>Job</th>
          <th>Schedule</th>
          <th>Next, {zoneMode.value === 'job' ? 'job’s zone' : pageZone.value}</th>
          <th>Last 20, newest right</th>
          <th class="num">p50</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        {items.map((job, index) => (
          <JobRow key={job.id} job={job} isCurrent={index === at} />
        ))}
      </tbody>
    </table>
  )
}

function JobRow({ job, isCurrent }: { job: WireJobLine; isCurrent: boolean }): VNode {
  const zone = job.schedule?.timezone
  const origin = [
    job.shared ? 'all tenants' : job.tenant,
    job.definition !== job.name && job.definition,
    job.tasks.length > 1 && `${job.tasks.length} tasks`,
    job.orphaned ? 'no live node declares it' : job.release !== null && `code ${job.release}`,
  ].filter(Boolean)
  return (
    <tr class={isCurrent ? 'cur' : ''}>
      <td>
        <div class="two">
          <a class="strong" href={jobPath(job)}>
            {job.name}
          </a>{' '}
          {job.overridden.length > 0 && (
            <span class="tag">
              <Icon name="edit" size={10} />
              {job.overridden.join(', ')} by hand
            </span>
          )}
          <small>{origin.join(' · ')}</small>
        </div>
      </td>
      <td>
        {job.schedule ? (
          <div class="two">
            {wordsOf(job.schedule)}
            <small>
              {job.schedule.timezone ?? 'UTC'}{' '}
              <span class="cronx">· {job.schedule.text && <span class="mono">{job.schedule.text}</span>}</span>
            </small>
          </div>
        ) : (
          <div class="two">
            When enqueued
            <small>no schedule</small>
          </div>
        )}
      </td>
      <td class="nw">
        {job.nextRun ? (
          <div class="two">
            <At at={job.nextRun} zone={zone} />
            <small>
              <Ago at={job.nextRun} isAhead />
            </small>
          </div>
        ) : job.pending > 0 ? (
          <div class="two">
            {countText(job.pending)} to come
            <small>enqueued</small>
          </div>
        ) : (
          <span class="dim">—</span>
        )}
      </td>
      <td>
        <Dots runs={job.recent} />
      </td>
      <td class="num nw">{job.p50Ms === null ? <span class="dim">—</span> : duration(job.p50Ms)}</td>
      <td class="nw">
        <State mark={jobShape(mainMark(job.marks))} text={jobStateText(job)} />
      </td>
    </tr>
  )
}
