import type { VNode } from 'preact'
import type { WireJob } from '../../../../src/http/wire.ts'
import { pagePath } from '../../data/root.ts'
import { Cross, px } from '../../drawing/shapes.tsx'
import { useWidth } from '../../drawing/width.ts'
import { duration } from '../../time/duration.ts'
import { now, zoneOf } from '../../time/zone.ts'
import { timeText } from '../../time/zoned.ts'

const height = 108
const left = 52
const bottom = 16

/** How long the last runs took; failed ones as crosses. */
export function Durations({ job }: { job: WireJob }): VNode | null {
  const { ref, width } = useWidth<HTMLDivElement>()
  const runs = job.recent.filter(({ tookMs, startedAt }) => tookMs !== null && startedAt !== null)
  if (runs.length < 2) return null
  const top = roundUp(Math.max(...runs.map(({ tookMs }) => tookMs!)))
  const room = height - bottom - 6
  const x = (at: number) => left + (at / (runs.length - 1)) * (width - left - 10)
  const y = (ms: number) => 6 + room - (ms / top) * room
  const zone = zoneOf(job.schedule?.timezone)
  const label = (at: string) => timeText(Date.parse(at), zone, now.peek())
  return (
    <section class="card chart" aria-label="Duration">
      <div class="hd">
        <h3>Duration</h3>
        <span class="dim">last {runs.length}</span>
        <span class="v">{job.p50Ms !== null && `p50 ${duration(job.p50Ms)}`}</span>
      </div>
      <div class="plot" ref={ref}>
        {width > 0 && (
          <svg width={width} height={height} role="group" aria-label={`Run times of the last ${runs.length}`}>
            {[0, top / 2, top].map((ms) => (
              <g key={ms}>
                <path class="rule" d={`M${left} ${Math.round(y(ms)) + 0.5}H${width - 4}`} />
                <text class="t" x={left - 6} y={px(y(ms) + 4)} text-anchor="end">
                  {ms === 0 ? '0' : duration(ms)}
                </text>
              </g>
            ))}
            {runs.map((run, at) => (
              <a
                key={run.id}
                href={pagePath(`occurrences/${run.id}`)}
                tabIndex={-1}
                aria-label={`${run.state}, ${duration(run.tookMs!)}`}
              >
                {run.state === 'completed' ? (
                  <circle class="m-completed" cx={px(x(at))} cy={px(y(run.tookMs!))} r={3} />
                ) : (
                  <Cross x={x(at)} y={y(run.tookMs!)} size={3.4} />
                )}
              </a>
            ))}
            <text class="t" x={left} y={height - 1}>
              {label(runs[0]!.scheduledAt)}
            </text>
            <text class="t" x={width - 4} y={height - 1} text-anchor="end">
              {label(runs.at(-1)!.scheduledAt)}
            </text>
          </svg>
        )}
      </div>
    </section>
  )
}

/** To a duration with a round half. */
function roundUp(ms: number): number {
  const unit =
    ms > 3_600_000 ? 3_600_000 : ms > 600_000 ? 600_000 : ms > 60_000 ? 120_000 : ms > 10_000 ? 10_000 : ms > 1000 ? 1000 : 100
  return Math.max(unit, Math.ceil(ms / unit) * unit)
}
