import { useComputed } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOverview } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { counted } from '../../data/count.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { tenant } from '../../data/session.ts'
import { Glyph } from '../../part/glyph.tsx'
import { Progress } from '../../part/progress.tsx'
import { Ago, At, Since } from '../../part/time.tsx'
import { roughly } from '../../time/duration.ts'
import { leftText } from '../../time/left.ts'
import { now, pageZone } from '../../time/zone.ts'

type Running = WireOverview['running']['items'][number]

/** Running work and the next instants. */
export function NowAndNext({ overview }: { overview: WireOverview }): VNode {
  const { running, next } = overview
  const groups = grouped(running.items)
  const hour = useNextHour()
  return (
    <section class="card nn" aria-label="Now and next">
      <h3>
        <span>Running now</span>
        <span>
          {running.count} of {running.slots}
        </span>
      </h3>
      {groups.length === 0 && <p class="it-none">Nothing runs at the moment.</p>}
      {groups.map((group) => (
        <RunningGroup key={group[0]!.job + group[0]!.tenant} group={group} />
      ))}
      <h3>
        <span>
          Next
          {hour && `, ${counted(sum(hour), 'run')} within the hour`}
        </span>
        <span>{pageZone.value}</span>
      </h3>
      {next.length === 0 && <p class="it-none">No instant lies ahead.</p>}
      {soonest(next).map(({ tenant, job, at, id, key, more }) => (
        <div class="it" key={`${tenant}${job}${at}${id}`}>
          <Glyph mark="pending" />
          <a
            class="ell"
            href={
              id === null
                ? pagePath(`jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(job)}`)
                : more > 0
                  ? pagePath('occurrences', { state: 'pending', job })
                  : pagePath(`occurrences/${id}`)
            }
          >
            {job} {more === 0 && key && <span class="dim">{key}</span>}
            <HourHint count={hour?.get(job) ?? 0} more={more} />
          </a>
          <span class="r">
            <b>
              <At at={at} seconds={Date.parse(at) - now.value < clearMs} />
            </b>{' '}
            · <Ago at={at} isAhead />
          </span>
        </div>
      ))}
    </section>
  )
}

/** How many runs of each job come within the hour. */
function useNextHour(): ReadonlyMap<string, number> | null {
  const from = useComputed(() => Math.floor(now.value / 30_000) * 30_000).value
  const { data } = useQuery({
    key: ['calendar', 'cell', 'next', tenant.value, from],
    read: (signal) =>
      api.calendarCell(
        {
          from: new Date(Math.max(from, now.peek())).toISOString(),
          to: new Date(from + 3_600_000).toISOString(),
          tenant: tenant.value,
        },
        signal,
      ),
    keepsLast: true,
  })
  if (!data) return null
  const counts = new Map<string, number>()
  for (const { job, count } of data.jobs) counts.set(job, (counts.get(job) ?? 0) + count)
  return counts
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}

function HourHint({ count, more }: { count: number; more: number }): VNode | null {
  if (count > 1)
    return (
      <span class="dim" title={`${count} runs within the hour`}>
        {count.toLocaleString('en-US')}×
      </span>
    )
  return more > 0 && count === 0 ? <span class="dim">and {more} more</span> : null
}

type Next = WireOverview['next'][number]
const shownNext = 10
/** Instants that are so near are shown to the second. */
const clearMs = 12 * 3_600_000

/** One line for each job, with its first instant: a frequent one leaves room for the others. */
function soonest(next: readonly Next[]): readonly (Next & { readonly more: number })[] {
  const byJob = new Map<string, Next & { more: number }>()
  for (const one of next) {
    const known = byJob.get(one.job)
    if (known) known.more += 1
    else byJob.set(one.job, { ...one, more: 0 })
  }
  return [...byJob.values()].slice(0, shownNext)
}

/** Runs of one job share a line when there are several. */
function grouped(items: readonly Running[]): Running[][] {
  const groups = new Map<string, Running[]>()
  for (const item of items) {
    const name = `${item.tenant}/${item.job}`
    groups.set(name, [...(groups.get(name) ?? []), item])
  }
  return [...groups.values()].slice(0, 6)
}

function RunningGroup({ group }: { group: readonly Running[] }): VNode | null {
  const [first] = group
  if (!first) return null
  const share = first.progress ?? (first.tasks > 1 ? first.tasksDone / first.tasks : null)
  const startedAt = first.startedAt ? Date.parse(first.startedAt) : null
  const href =
    group.length === 1 ? pagePath(`occurrences/${first.id}`) : pagePath('occurrences', { state: 'running', job: first.job })
  const longest = group
    .map((one) => one.startedAt)
    .filter((at) => at !== null)
    .sort()[0]
  return (
    <div class="it">
      <Glyph mark="running" />
      <a class="ell strong" href={href}>
        {first.job} {group.length === 1 && first.key && <span class="dim font-normal">{first.key}</span>}
      </a>
      {group.length > 1 ? (
        <span class="r">
          <b>{counted(group.length, 'run')}</b>
          {longest && (
            <>
              {' '}
              · longest <Since at={longest} />
            </>
          )}
        </span>
      ) : (
        <span class="r">
          {first.progress !== null ? (
            <b>{Math.round(first.progress * 100)} %</b>
          ) : first.tasks > 1 ? (
            <b>{`${first.tasksDone} of ${first.tasks} tasks`}</b>
          ) : null}
          {startedAt !== null && (
            <>
              {share !== null && ' · '}
              {roughly(Math.max(0, now.value - startedAt))}
              {first.progress !== null && first.progress > 0.02 && `, about ${leftText(startedAt, first.progress)} left`}
            </>
          )}
        </span>
      )}
      {group.length === 1 && share !== null && <Progress value={share} />}
    </div>
  )
}
