import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { expect, it } from 'vitest'
import { sectionsOf, withEarlierRows } from '../../bench/harness/earlier-page.ts'
import { checkExactlyOnce } from '../../bench/harness/exactly-once.ts'
import { payload } from '../../bench/harness/payload.ts'
import { inRounds } from '../../bench/harness/rounds.ts'
import { serverMicros } from '../../bench/harness/server-micros.ts'
import { median, percentile, spread } from '../../bench/harness/statistics.ts'
import { together } from '../../bench/harness/usage.ts'

it('a percentile is interpolated between its neighbours, whatever the order', () => {
  const values = [40, 10, 30, 20]
  expect([0, 25, 50, 100].map((p) => percentile(values, p))).toEqual([10, 17.5, 25, 40])
  expect(percentile([7], 99)).toBe(7)
  expect(
    percentile(
      Array.from({ length: 101 }, (_, i) => i),
      99,
    ),
  ).toBe(99)
  expect(values).toEqual([40, 10, 30, 20])
})

it('a median and its spread are by value, not by text', () => {
  expect(median([9, 100, 10])).toBe(10)
  expect(spread([9, 100, 10])).toEqual({ median: 10, min: 9, max: 100 })
})

it('no percentile is made up', () => {
  expect(() => percentile([], 50)).toThrow('nothing to take')
  expect(() => percentile([1], 101)).toThrow('between 0 and 100')
})

it('jobs that each ran once in some process pass', () => {
  expect(() => checkExactlyOnce(4, [Uint32Array.of(3, 0), [2, 1]])).not.toThrow()
  expect(() => checkExactlyOnce(0, [])).not.toThrow()
})

it('jobs that were lost, repeated or made up are named', () => {
  expect(() => checkExactlyOnce(3, [[0, 1]])).toThrow('Of 3 jobs 1 never ran (2)')
  expect(() => checkExactlyOnce(2, [[0, 1], [1]])).toThrow('Of 2 jobs 1 ran more than once (1)')
  expect(() => checkExactlyOnce(1, [[0, 5]])).toThrow('Of 1 jobs 1 were never enqueued (5)')
  expect(() => checkExactlyOnce(9, [])).toThrow('9 never ran (0, 1, 2, 3, 4, …)')
})

it('the tables of a written page are read by their headings', () => {
  const page = '# Queues\n\nNode 24.\n\n## Drain: one\n\nA note.\n\n| a |\n| --- |\n| 1 |\n\n## Keys\n\n| b |\n'
  expect(sectionsOf(page)).toEqual([
    ['Drain: one', 'A note.\n\n| a |\n| --- |\n| 1 |'],
    ['Keys', '| b |'],
  ])
})

it('rounds are interleaved, and each begins with another contestant', async () => {
  const order: string[] = []
  const contestants = ['a', 'b', 'c'].map((name) => ({ name }))
  const results = await inRounds(contestants, 3, async ({ name }) => order.push(name))
  expect(order.join('')).toBe('abcbcacab')
  expect([...results].map(([{ name }, places]) => [name, ...places])).toEqual([
    ['a', 1, 6, 8],
    ['b', 2, 4, 9],
    ['c', 3, 5, 7],
  ])
})

it('a contestant that fails ends the run under its name', async () => {
  const failing = inRounds([{ name: 'a' }], 1, () => Promise.reject(new Error('Of 3 jobs 1 never ran (2)')))
  await expect(failing).rejects.toMatchObject({ message: 'a failed in round 1', cause: { message: 'Of 3 jobs 1 never ran (2)' } })
})

it('every payload is 100 bytes of JSON', () => {
  for (const [n, at] of [
    [0, 0],
    [99_999, 1_763_200_000_000],
    [7, 12_345.678901],
  ] as const)
    expect(JSON.stringify(payload(n, at))).toHaveLength(100)
})

it.runIf(process.platform === 'linux')(
  'the CPU time of a server counts the processes that it has started, also when they have ended',
  () => {
    const before = serverMicros(process.pid)
    spawnSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 150_000);'])
    expect(serverMicros(process.pid) - before).toBeGreaterThanOrEqual(100_000)
  },
)

it('of workers at the same time the CPU adds up, and that of their server is counted once', () => {
  const usages = [
    { own: 10, server: 7 },
    { own: 20, server: 9 },
  ]
  expect(together(usages)).toEqual({ own: 30, server: 9 })
})

it('a table keeps the rows of its earlier page that are not measured again, in their places', () => {
  const section = 'A note.\n\n|  | a | b |\n| --- | --- | --- |\n| one | 1 |  |\n| two | 2 | met |'
  const rows = [
    ['two', '3', 'MISSED'],
    ['three', '4', ''],
  ]
  expect(withEarlierRows(section, rows)).toEqual([['one', '1', ''], ...rows])
  expect(withEarlierRows('', rows)).toEqual(rows)
})
