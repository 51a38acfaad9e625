import { useComputed } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireFigures, WireOverview } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { tenant } from '../../data/session.ts'
import { ChartCard } from '../../drawing/chart-card.tsx'
import { latenessChart, oldestChart, throughputChart } from '../../drawing/figures.ts'
import { duration } from '../../time/duration.ts'
import { now, pageZone } from '../../time/zone.ts'
import { timeText } from '../../time/zoned.ts'

const spanMs = 6 * 3_600_000
const stepMs = 7.5 * 60_000

export function FigureCharts({ overview }: { overview: WireOverview }): VNode {
  const slot = useComputed(() => Math.floor(now.value / 60_000)).value
  const query = useQuery({
    key: ['figures', tenant.value, slot],
    read: (signal) => {
      const to = (slot + 1) * 60_000
      return api.figures(
        {
          from: new Date(to - spanMs).toISOString(),
          to: new Date(to).toISOString(),
          step: stepMs,
          ...(tenant.value && { tenant: tenant.value }),
        },
        signal,
      )
    },
    keepsLast: true,
  })
  const { data } = query
  if (!data) return <div class="cols cols-3 charts-room" />
  return (
    <div class="cols cols-3">
      <Throughput figures={data} />
      <Lateness figures={data} />
      <Oldest figures={data} overview={overview} />
    </div>
  )
}

const at = (instant: string) => timeText(Date.parse(instant), pageZone.value, now.value)

function Throughput({ figures }: { figures: WireFigures }): VNode {
  // The newest step still fills: it counts with the one before it.
  const newest = figures.points.slice(-2)
  const spanMs = Date.parse(figures.now) - Date.parse(newest[0]?.at ?? figures.now)
  const perMinute = (field: 'completed' | 'failedAttempts') =>
    Math.round((newest.reduce((sum, point) => sum + point[field], 0) / Math.max(60_000, spanMs)) * 60_000 * 10) / 10
  const failing = perMinute('failedAttempts')
  return (
    <ChartCard
      title="Throughput"
      value={`${perMinute('completed')} a minute${failing > 0 ? `, ${failing} fail` : ''}`}
      chart={throughputChart(figures)}
      legend={[
        ['sw done', 'completed'],
        ['sw fault', 'failed attempts, below zero'],
      ]}
      head={['From', 'Completed', 'Failed attempts']}
      rows={figures.points.map((point) => [at(point.at), String(point.completed), String(point.failedAttempts)])}
    />
  )
}

function Lateness({ figures }: { figures: WireFigures }): VNode {
  const last = figures.points.findLast(({ lateness }) => lateness !== null)?.lateness
  return (
    <ChartCard
      title="Lateness at start"
      value={last ? `p99 ${duration(last.p99)}` : 'none'}
      chart={latenessChart(figures)}
      legend={[
        ['sw line active', last ? `p50 ${duration(last.p50)}` : 'p50'],
        ['sw line dash active', 'p99'],
        ['', 'log scale'],
      ]}
      head={['From', 'p50', 'p99', 'Starts']}
      rows={figures.points.map(({ at: from, lateness }) => [
        at(from),
        lateness ? duration(lateness.p50) : '',
        lateness ? duration(lateness.p99) : '',
        String(lateness?.count ?? 0),
      ])}
    />
  )
}

function Oldest({ figures, overview }: { figures: WireFigures; overview: WireOverview }): VNode {
  const { oldest, graceMs } = overview.late
  const last = oldest ? Date.parse(overview.now) - Date.parse(oldest.dueAt) : (figures.gauges.at(-1)?.oldestDueMs ?? 0)
  return (
    <ChartCard
      title="Oldest due"
      value={last > 0 ? duration(last) : 'none'}
      isAlarming={last > graceMs}
      chart={oldestChart(figures, graceMs, last)}
      legend={[
        ['sw line time', 'above grace'],
        ['sw line dash time', `grace ${duration(graceMs)}`],
        ...(oldest ? [['', oldest.name] as const] : []),
      ]}
      head={['At', 'Age of the oldest due']}
      rows={figures.gauges.map((gauge) => [at(gauge.at), gauge.oldestDueMs === null ? 'none' : duration(gauge.oldestDueMs)])}
    />
  )
}
