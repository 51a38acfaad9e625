import { useComputed } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireFigures } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { tenant } from '../../data/session.ts'
import { Glyph } from '../../part/glyph.tsx'
import type { Mark } from '../../part/mark.ts'
import { now } from '../../time/zone.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
const lines: readonly (readonly [Mark, string, 'completed' | 'failedAttempts' | 'skipped' | 'canceled' | 'failed' | 'missed'])[] =
  [
    ['completed', 'Completed', 'completed'],
    ['retrying', 'Attempts that failed', 'failedAttempts'],
    ['skipped', 'Skipped', 'skipped'],
    ['canceled', 'Canceled', 'canceled'],
    ['failed', 'Failed for good', 'failed'],
    ['missed', 'Missed', 'missed'],
  ]

/** The ends of the last day, where attention leaves room. */
export function LastDay(): VNode | null {
  const hour = useComputed(() => Math.floor(now.value / 300_000) * 300_000).value
  const { data } = useQuery({
    key: ['figures', 'day', tenant.value, hour],
    read: (signal) =>
      api.figures(
        {
          from: new Date(hour - dayMs).toISOString(),
          to: new Date(hour + hourMs).toISOString(),
          step: hourMs,
          ...(tenant.value && { tenant: tenant.value }),
        },
        signal,
      ),
    keepsLast: true,
  })
  if (!data) return null
  return (
    <div class="nn last-day">
      <h3>
        <span>Last 24 hours</span>
        <span>occurrences</span>
      </h3>
      {lines.map(([mark, text, field]) => {
        const count = total(data, field)
        return (
          <div class={`it ${count === 0 ? 'zero' : ''}`} key={field}>
            <Glyph mark={mark} />
            <span>{text}</span>
            <span class="r">
              <b>{count.toLocaleString('en-US')}</b>
            </span>
          </div>
        )
      })}
    </div>
  )
}

function total({ points }: WireFigures, field: (typeof lines)[number][2]): number {
  return points.reduce((sum, point) => sum + point[field], 0)
}
