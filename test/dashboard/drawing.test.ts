import { describe, expect, test } from 'vitest'
import { afterOf, placeNodes } from '../../dashboard/src/drawing/graph-layout.ts'
import { binsOf, isCrowded, type LaneMark, scale, visibleMarks } from '../../dashboard/src/drawing/lane.ts'
import { ticks } from '../../dashboard/src/drawing/ticks.ts'
import { placeOf, segments, type WaterfallBar } from '../../dashboard/src/drawing/waterfall-layout.ts'
import { filterOf, requestOf, tokenOf } from '../../dashboard/src/page/occurrences/filter.ts'
import { duration, relative, roughly } from '../../dashboard/src/time/duration.ts'
import { clockChanges, clockText, dayStart, offsetText, timeText } from '../../dashboard/src/time/zoned.ts'

const hour = 3_600_000
const at = (text: string) => Date.parse(text)

describe('durations', () => {
  test.each([
    [240, '240 ms'],
    [1400, '1.4 s'],
    [52_000, '52 s'],
    [236_000, '3 m 56 s'],
    [7_320_000, '2 h 02 m'],
    [129_600_000, '1 d 12 h'],
    [13_478_400_000, '156 d'],
  ])('%i ms is %s', (ms, text) => expect(duration(ms)).toBe(text))

  test('seconds are left out of how long ago something was once there are minutes', () => {
    expect(relative(0, 65_000)).toBe('1 m ago')
    expect(relative(52_400, 0)).toBe('in 52 s')
    expect(relative(0, 400)).toBe('now')
    expect(roughly(7_300_000)).toBe('2 h')
  })
})

describe('zones', () => {
  const back = at('2026-10-25T01:00:00Z')

  test('times stand as a wall clock of the zone has them, across a clock change', () => {
    expect(clockText(back - 1000, 'Europe/Warsaw', true)).toBe('02:59:59')
    expect(clockText(back, 'Europe/Warsaw')).toBe('02:00')
    expect(offsetText(back, 'Europe/Warsaw')).toBe('+01:00')
    expect(timeText(at('2026-10-22T12:32:00Z'), 'Europe/Warsaw', at('2026-10-24T00:00:00Z'))).toBe('Thu 22 Oct 14:32')
  })

  test('the day of a clock change has 25 hours', () => {
    const start = dayStart(back, 'Europe/Warsaw')
    expect(dayStart(start + 26 * hour, 'Europe/Warsaw') - start).toBe(25 * hour)
  })

  test('clock changes of a range are found to the instant', () => {
    expect(clockChanges(back - 9 * 86_400_000, back + 86_400_000, 'Europe/Warsaw')).toEqual([{ at: back, byMs: -hour }])
    expect(clockChanges(back - hour, back + hour, 'UTC')).toEqual([])
  })

  test('an axis has round times of the zone', () => {
    const marks = ticks(back - 12 * hour, back + 12 * hour, 852, 'Europe/Warsaw')
    for (const { at: instant } of marks) expect(clockText(instant, 'Europe/Warsaw')).toMatch(/^[012]\d:00$/)
    expect(marks.filter(({ isDay }) => isDay)).toHaveLength(1)
  })
})

describe('a lane', () => {
  const view = scale(0, 1000, 500)
  const marks = (count: number, mark: LaneMark['mark'] = 'completed') =>
    Array.from({ length: count }, (_, index) => ({ id: String(index), at: (index * 1000) / count, endAt: null, mark }))

  test('draws what matters over what does not', () => {
    const drawn = visibleMarks([{ id: 'f', at: 10, endAt: null, mark: 'failed' }, ...marks(2)], view)
    expect(drawn.at(-1)?.mark).toBe('failed')
  })

  test('becomes a density when marks are closer than they are wide', () => {
    expect(isCrowded(marks(50), view, 1000)).toBe(false)
    expect(isCrowded(marks(90), view, 1000)).toBe(true)
  })

  test('becomes one too when only its future is crowded', () => {
    const coming = Array.from({ length: 40 }, (_, index) => ({
      id: null,
      at: 700 + index * 7,
      endAt: null,
      mark: 'pending' as const,
    }))
    expect(isCrowded(coming, view, 690)).toBe(true)
    expect(isCrowded(coming.slice(0, 10), view, 690)).toBe(false)
  })

  test('bars of counts keep their place while the view moves', () => {
    const bins = Array.from({ length: 8 }, (_, index) => ({
      from: index * 100,
      to: index * 100 + 100,
      done: 3,
      failed: 0,
      coming: 0,
    }))
    const barsOf = (from: number) =>
      binsOf([], { stepMs: 100, bins }, scale(from, from + 1000, 500), 800).map(({ from: start, done }) => [start, done])
    expect(barsOf(0)).toEqual(bins.map(({ from }) => [from, 3]))
    expect(barsOf(37)).toEqual(bins.slice(1).map(({ from }) => [from, 3]))
  })

  test('a density loses nothing: successes, failures and instants to come are all counted', () => {
    const all = [...marks(200), ...marks(20, 'failed')].filter(({ at: instant }) => instant <= 690)
    const coming = Array.from({ length: 40 }, (_, index) => ({
      id: null,
      at: 691 + index * 7,
      endAt: null,
      mark: 'pending' as const,
    }))
    const bins = binsOf([...all, ...coming], null, view, 690)
    const sum = (key: 'done' | 'failed' | 'coming') => bins.reduce((total, bin) => total + bin[key], 0)
    expect(sum('done')).toBe(all.filter(({ mark }) => mark === 'completed').length)
    expect(sum('failed')).toBe(all.filter(({ mark }) => mark === 'failed').length)
    expect(sum('coming')).toBeGreaterThan(35)
    for (const { from, to } of bins) expect(to).toBeGreaterThan(from)
  })
})

describe('a waterfall', () => {
  const bars: WaterfallBar[] = [
    { kind: 'wait', from: 0, to: 800, text: '' },
    { kind: 'turn', from: 800, to: 3000, text: '1' },
    { kind: 'park', from: 3000, to: 33_000, text: '' },
    { kind: 'turn', from: 33_000, to: 35_000, text: '2' },
  ]

  test('folds long waits to a fixed width and fills the rest to scale', () => {
    const parts = segments(bars, 600, true)
    expect(parts.map(({ isFolded }) => isFolded)).toEqual([false, false, true, false])
    expect(parts[2]?.width).toBe(74)
    expect(Math.round(parts.reduce((sum, { width }) => sum + width, 0))).toBe(600)
  })

  test('unfolded it is to scale', () => {
    const parts = segments(bars, 700, false)
    expect(Math.round(placeOf(17_500, parts))).toBe(350)
  })

  test('clocks that went back give no negative width', () => {
    const parts = segments([{ kind: 'turn', from: 100, to: 100, text: '1' }], 600, true)
    expect(parts[0]?.width).toBeGreaterThanOrEqual(0)
    expect(placeOf(50, parts)).toBe(0)
  })
})

describe('a task graph', () => {
  test('places tasks after those they wait for', () => {
    const { placed, columns, rows } = placeNodes([
      { name: 'usage', after: [] },
      { name: 'rates', after: [] },
      { name: 'render', after: ['usage', 'rates'] },
      { name: 'send', after: ['render'] },
    ])
    expect(placed.map(({ column }) => column)).toEqual([0, 0, 1, 2])
    expect({ columns, rows }).toEqual({ columns: 3, rows: 2 })
  })

  test('a sequence is a chain, and a parallel job has no edges', () => {
    const tasks = [
      { name: 'a', after: null },
      { name: 'b', after: null },
    ]
    expect(afterOf(tasks, 'sequential')[1]?.after).toEqual(['a'])
    expect(afterOf(tasks, 'parallel')[1]?.after).toEqual([])
  })
})

describe('the filter of occurrences', () => {
  test('tokens become parameters, and parameters a request', () => {
    expect(tokenOf('job: invoice')).toEqual({ name: 'job', value: 'invoice' })
    expect(tokenOf('colour:red')).toBe(null)
    const filter = filterOf({ job: 'invoice', due: '24h', nonsense: 'x' })
    expect(requestOf(filter, 'dead', at('2026-10-22T12:00:30Z'))).toEqual({
      job: 'invoice',
      state: ['dead'],
      from: '2026-10-21T12:00:00.000Z',
    })
  })
})
