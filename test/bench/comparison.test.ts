import { expect, it } from 'vitest'
import { barChart } from '../../bench/harness/bar-chart.ts'
import { advantage, ratioCell } from '../../bench/harness/comparison.ts'

const rate = { title: 'jobs/s', of: (run: number) => run, better: 'higher' } as const
const delay = { title: 'ms', of: (run: number) => run, better: 'lower' } as const

it('an advantage is that of the medians, with the lowest and highest of single rounds', () => {
  expect(advantage([20, 60, 40], [[10, 10, 20]], rate)).toEqual({ median: 4, min: 2, max: 6 })
})

it('the best peer is another one for each figure and round', () => {
  const peers = [
    [10, 40],
    [20, 20],
  ]
  expect(advantage([40, 40], peers, rate)).toEqual({ median: 1.6, min: 1, max: 2 })
  expect(advantage([10, 10], peers, delay)).toEqual({ median: 2, min: 1, max: 2 })
})

it('less time is the better one', () => {
  expect(advantage([2], [[10]], delay)?.median).toBe(5)
  expect(advantage([10], [[2]], delay)?.median).toBe(0.2)
})

it('without peers there is no advantage', () => {
  expect(advantage([1], [], rate)).toBeNull()
  expect(ratioCell(null)).toBe('')
})

it('a ratio is told with its spread', () => {
  expect(ratioCell({ median: 2.54, min: 0.04, max: 31.2 })).toBe('2.5× (0.04–31)')
})

it('a chart has a bar for each ratio, to the right of 1× where it is better', () => {
  const ratio = (median: number) => ({ median, min: median, max: median })
  const svg = barChart('a < b', [
    { label: 'better', ratio: ratio(4) },
    { label: 'worse', ratio: ratio(0.5) },
  ])
  expect(svg).toContain('a &lt; b')
  const [better, worse] = [...svg.matchAll(/<rect x="([\d.]+)"[^>]*width="([\d.]+)"/g)].map(([, x, width]) => [
    Number(x),
    Number(width),
  ])
  expect(better?.[0]).toBeCloseTo((worse?.[0] ?? 0) + (worse?.[1] ?? 0), 0)
  expect(better?.[1]).toBeCloseTo(2 * (worse?.[1] ?? 0), 0)
})
