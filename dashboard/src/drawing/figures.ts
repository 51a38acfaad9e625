// The charts of the overview, as options of uPlot.
import type uPlot from 'uplot'
import type { WireFigures } from '../../../src/http/wire.ts'
import { duration } from '../time/duration.ts'

export interface ChartSpec {
  readonly data: uPlot.AlignedData
  readonly options: (
    colour: (name: string) => string,
    bars: uPlot.Series.PathBuilder,
  ) => Pick<uPlot.Options, 'series' | 'scales' | 'axes' | 'hooks'>
}

/** The part of the height below zero, which failures take. */
const below = 0.24

const plain = { spanGaps: true, points: { show: false } }
/** A line of one value has no length: it is a point. */
const pointed = (values: readonly (number | null)[]) =>
  values.filter((value) => value !== null).length === 1 ? { points: { show: true, size: 5 } } : {}

const seconds = (at: string) => Date.parse(at) / 1000

export function throughputChart({ points }: WireFigures): ChartSpec {
  const most = Math.max(...points.map(({ completed }) => completed), 4)
  const unit = 10 ** Math.floor(Math.log10(most)) / 2
  const top = Math.ceil(most / unit / 2) * unit * 2
  const worst = Math.max(...points.map(({ failedAttempts }) => failedAttempts), 1)
  return {
    data: [
      points.map(({ at }) => seconds(at)),
      points.map(({ completed }, at) => (at === points.length - 1 ? null : completed)),
      points.map(({ completed }, at) => (at === points.length - 1 && completed > 0 ? completed : null)),
      points.map(({ failedAttempts }) => (failedAttempts > 0 ? -failedAttempts : null)),
    ],
    options: (colour, bars) => ({
      scales: {
        y: { range: () => [(-below / (1 - below)) * top, top] },
        f: { range: () => [-worst, (worst * (1 - below)) / below] },
      },
      series: [
        {},
        { scale: 'y', fill: colour('--state-done-mark'), width: 0, paths: bars, points: { show: false } },
        // The newest step still fills.
        { scale: 'y', stroke: colour('--state-done-mark'), width: 1, dash: [3, 2], paths: bars, points: { show: false } },
        { scale: 'f', fill: colour('--state-fault'), width: 0, paths: bars, points: { show: false } },
      ],
      axes: [
        {},
        { scale: 'y', splits: () => [0, top / 2, top], values: (_, all) => all.map(short) },
        { scale: 'f', side: 3, size: 0, grid: { show: false }, splits: () => [-worst], values: () => [] },
      ],
    }),
  }
}

export function latenessChart({ points }: WireFigures): ChartSpec {
  const value = (key: 'p50' | 'p99') => points.map(({ lateness }) => (lateness ? Math.max(1, lateness[key]) : null))
  const top = Math.max(10_000, ...value('p99').map((one) => one ?? 0))
  const ceiling = 10 ** Math.ceil(Math.log10(top))
  const [p50, p99] = [value('p50'), value('p99')]
  return {
    data: [points.map(({ at }) => seconds(at)), p50, p99],
    options: (colour) => ({
      scales: { y: { distr: 3, range: () => [1, ceiling] } },
      series: [
        {},
        { stroke: colour('--state-active'), width: 1.8, ...plain, ...pointed(p50) },
        { stroke: colour('--state-active'), width: 1.6, dash: [4, 2.5], ...plain, ...pointed(p99) },
      ],
      axes: [
        {},
        {
          scale: 'y',
          size: 48,
          splits: () => decades(ceiling),
          filter: (_, all) => all,
          values: (_, all) => all.map(decadeText),
        },
      ],
    }),
  }
}

function decadeText(ms: number | null): string {
  if (ms === null) return ''
  return ms < 1000 ? `${ms} ms` : `${ms / 1000} s`
}

/** Ends of the axis of ages, in minutes: each has a round half. */
const roundAges = [1, 2, 4, 10, 20, 40, 60, 120, 240, 480, 720, 1440].map((minutes) => minutes * 60_000)

function decades(ceiling: number): number[] {
  const all: number[] = []
  for (let at = 1; at <= ceiling; at *= 10) all.push(at)
  return all.length > 5 ? all.filter((_, index) => index % 2 === 0) : all
}

export function oldestChart({ gauges, from, to }: WireFigures, graceMs: number, current: number): ChartSpec {
  const rows = [...gauges.map(({ at, oldestDueMs }) => [seconds(at), oldestDueMs ?? 0] as const), [seconds(to), current] as const]
  const most = Math.max(...rows.map(([, ms]) => ms), graceMs * 2, 1000)
  const top = roundAges.find((one) => one >= most) ?? Math.ceil(most / 86_400_000) * 86_400_000
  return {
    data: [rows.map(([at]) => at), rows.map(([, ms]) => ms), rows.map(() => graceMs)],
    options: (colour) => ({
      scales: { x: { range: () => [seconds(from), seconds(to)] }, y: { range: () => [0, top] } },
      series: [
        {},
        {
          stroke: colour(most > graceMs * 2 ? '--state-time' : '--state-idle'),
          fill: colour('--state-time-soft'),
          width: 1.8,
          ...plain,
        },
        { stroke: colour('--state-time'), width: 1, dash: [3, 3], ...plain },
      ],
      axes: [
        {},
        {
          scale: 'y',
          size: 48,
          splits: () => [0, top / 2, top],
          values: (_, all) => all.map((ms) => (ms === 0 ? '0' : duration(Math.round(ms / 1000) * 1000))),
        },
      ],
    }),
  }
}

function short(count: number): string {
  if (count >= 10_000) return `${Math.round(count / 1000)}k`
  return count >= 1000 ? `${Math.round(count / 100) / 10}k` : String(Math.round(count * 10) / 10)
}
