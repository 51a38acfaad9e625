import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireCalendar } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { counted } from '../../data/count.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { tenant } from '../../data/session.ts'
import { CalendarGrid, runsIn } from '../../drawing/calendar-grid.tsx'
import { Sign } from '../../drawing/legend.tsx'
import { Button } from '../../part/button.tsx'
import { Icon } from '../../part/icon.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { relative } from '../../time/duration.ts'
import { now, pageZone } from '../../time/zone.ts'
import { dayStart, dayText, timeText } from '../../time/zoned.ts'

const day = 86_400_000
const before = 10
const shown = 21

export function Calendar(): VNode {
  const { query, route } = useLocation()
  const shift = Number(query.shift ?? 0) || 0
  const job = query.job ?? ''
  const zone = pageZone.value
  const from = dayStart(now.peek() + (shift * 7 - before) * day + 7_200_000, zone)
  const to = dayStart(from + shown * day + 7_200_000, zone)
  const calendar = useQuery({
    key: ['calendar', tenant.value, job, zone, from],
    read: (signal) =>
      api.calendar(
        { from: new Date(from).toISOString(), to: new Date(to).toISOString(), timezone: zone, tenant: tenant.value, job },
        signal,
      ),
    keepsLast: true,
    everyMs: 60_000,
  })
  const chosenAt = useSignal<string | null>(null)
  const go = (next: number) => route(pagePath('calendar', { shift: next ? String(next) : undefined, job }), true)
  return (
    <Loaded query={calendar}>
      {(data) => {
        const chosen = cellOf(data, chosenAt.value)
        return (
          <>
            <CalendarSentence calendar={data} zone={zone} />
            <div class="cols cols-main">
              <section class="card" aria-label="Calendar">
                <header>
                  <h2>
                    {dayText(from, zone, now.value)} to {dayText(to - day / 2, zone, now.value)}
                  </h2>
                  <div class="legend only-desk" aria-hidden="true">
                    <Sign text="ran">
                      <rect class="m-completed" x="1" width="12" height="12" rx="1.5" />
                    </Sign>
                    <Sign text="to come">
                      <rect class="m-pending" x="1.5" y="0.7" width="10.6" height="10.6" rx="1.5" />
                    </Sign>
                    <span>area = runs</span>
                  </div>
                  <div class="end">
                    <Button kind="ghost" isSmall icon="left" label="A week earlier" onClick={() => go(shift - 1)} />
                    <Button kind="ghost" isSmall onClick={() => go(0)}>
                      Today
                    </Button>
                    <Button kind="ghost" isSmall icon="chev" label="A week later" onClick={() => go(shift + 1)} />
                  </div>
                </header>
                <CalendarGrid
                  calendar={data}
                  selected={chosen?.at ?? null}
                  onSelect={({ at }) => {
                    chosenAt.value = at
                  }}
                />
                {data.capped && (
                  <p class="card-foot hint">Jobs with very many instants are counted only for the days next to come.</p>
                )}
              </section>
              <div class="stack">
                <CellCard calendar={data} cell={chosen} zone={zone} />
              </div>
            </div>
          </>
        )
      }}
    </Loaded>
  )
}

/** The hour that was chosen; before that the next peak, or this hour. */
function cellOf({ cells, nextPeak, now: at }: WireCalendar, chosenAt: string | null): WireCalendar['cells'][number] | null {
  const wanted = chosenAt ?? nextPeak?.at
  return cells.find((cell) => cell.at === wanted) ?? cells.find((cell) => cell.at <= at && at < cell.to) ?? null
}

function CalendarSentence({ calendar, zone }: { calendar: WireCalendar; zone: string }): VNode {
  const { busiestHour, nextPeak } = calendar
  const two = (hour: number) => `${String(hour % 24).padStart(2, '0')}:00`
  return (
    <div class="say">
      <h1>
        {busiestHour ? (
          <>
            <b>
              {two(busiestHour.hour)} to {two(busiestHour.hour + 1)} is your busiest hour
            </b>
            : {counted(Math.round(busiestHour.runs), 'run')} a day.
          </>
        ) : (
          'Nothing ran in this time.'
        )}{' '}
        {nextPeak && (
          <>
            Next peak <b>{timeText(Date.parse(nextPeak.at), zone, now.value)}</b>, {counted(nextPeak.runs, 'run')}.
          </>
        )}
      </h1>
    </div>
  )
}

function CellCard({
  calendar,
  cell,
  zone,
}: {
  calendar: WireCalendar
  cell: WireCalendar['cells'][number] | null
  zone: string
}): VNode {
  const details = useQuery({
    key: ['calendar', 'cell', tenant.value, cell?.at],
    read: (signal) => api.calendarCell({ from: cell!.at, to: cell!.to, tenant: tenant.value }, signal),
    isEnabled: cell !== null,
  })
  if (!cell)
    return (
      <section class="card">
        <Empty title="Choose an hour.">Which jobs run in it, and how many start in the same minute, shows here.</Empty>
      </section>
    )
  const at = Date.parse(cell.at)
  const change = calendar.changes.find((one) => Math.abs(Date.parse(one.at) - at) <= 3_600_000)
  const isTwice = calendar.cells.filter(({ date, hour }) => date === cell.date && hour === cell.hour).length > 1
  const jobs = details.data?.jobs ?? []
  const top = Math.max(1, ...jobs.map(({ count }) => count))
  const fullest = details.data?.minutes.toSorted((a, b) => b.count - a.count)[0]
  return (
    <>
      <section class="card" aria-label="The chosen hour">
        <header>
          <h2>{timeText(at, zone, now.value)}</h2>
          <span class="dim">{relative(at, now.value)}</span>
        </header>
        <div class="body stack gap-2">
          {isTwice && change && (
            <div class="note accent">
              <Icon name="clock" />
              <div>
                <b>This hour happens twice.</b> The clock goes from {change.from} to {change.to}. Every-minute jobs run in both
                passes, time-of-day jobs in the first only.
              </div>
            </div>
          )}
          {jobs.slice(0, 8).map(({ job, tenant: owner, count }) => (
            <div class="hbar" key={owner + job}>
              <a class="ell" href={pagePath(`jobs/${encodeURIComponent(owner)}/${encodeURIComponent(job)}`)}>
                {job}
              </a>
              <svg width="100%" height="8" aria-hidden="true">
                <rect class="m-idle" width={`${(count / top) * 100}%`} height="8" rx="2" />
              </svg>
              <b>{count}</b>
            </div>
          ))}
          {jobs.length > 8 && <p class="hint">{jobs.length - 8} more jobs</p>}
          {runsIn(cell) === 0 && <p class="dim">No run in this hour.</p>}
          <div class="row">
            <a
              class="btn sm"
              href={pagePath('', { zoom: '1h', shift: String(Math.round(((at - now.peek()) / 3_600_000) * 100) / 100) })}
            >
              Open in timeline
            </a>
          </div>
        </div>
      </section>
      {fullest && fullest.count > 1 && (
        <section class="card" aria-label="Starts in one minute">
          <header>
            <h2>Starts in one minute</h2>
          </header>
          <p class="body sec">
            {counted(fullest.count, 'run')} {fullest.count === 1 ? 'starts' : 'start'} at{' '}
            {timeText(Date.parse(fullest.at), zone, now.value)}. A <span class="mono">spread</span> on the larger schedules parts
            them.
          </p>
        </section>
      )}
    </>
  )
}
