import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { RecoveryOptions } from '../../src/model/recovery.ts'
import { cron } from '../../src/schedule/cron.ts'
import { accountOf, historyOf, hour, onStores, steps } from './stores.ts'

/** Two months, or as much of them as a store that takes its time to answer gets through in a test. */
const days: Record<string, number> = { memory: 60, sqlite: 12, postgres: 4 }

onStores('JB-15 recovery', (scene, store) => {
  const start = Date.parse('2026-01-01T00:30:00Z')
  const hourly = (recovery: RecoveryOptions, ran: number[] = [], options: object = {}) =>
    defineJob('tick', { schedule: cron('0 * * * *', { timezone: 'UTC' }), recovery, ...options }).task(
      'only',
      (ctx) => void ran.push(ctx.scheduledAt.getTime()),
    )

  const expected: readonly [string, RecoveryOptions, { run: number; missed?: number; skipped?: number }][] = [
    ['all', 'all', { run: 200 }],
    ['last', 'last', { run: 1, missed: 199 }],
    ['mark-missed', 'mark-missed', { run: 0, missed: 200 }],
    ['bounded by age: 24 run, 176 are missed', { strategy: 'bounded', maxAge: '24h' }, { run: 24, missed: 176 }],
    ['bounded by count', { strategy: 'bounded', maxOccurrences: 5 }, { run: 5, missed: 195 }],
    ['bounded by both', { strategy: 'bounded', maxOccurrences: 50, maxAge: '10h' }, { run: 10, missed: 190 }],
    ['compressed', 'compressed', { run: 1, skipped: 199 }],
  ]
  for (const [title, recovery, { run, ...passed }] of expected) {
    it.each(store === 'memory' ? ['clean stop', 'crash'] : ['crash'])(`200 h down, ${title} (%s)`, async (how) => {
      const { slowNode, clock, crash } = scene('2026-01-01T00:30:00Z')
      const ran: number[] = []
      const first = await slowNode({ jobs: [hourly(recovery, ran)] })
      await clock.advance('4h')
      expect(ran).toEqual(steps(start, clock.wall(), hour))
      if (how === 'crash') crash(first)
      else await first.punctual.stop()
      ran.length = 0
      await clock.advance('200h')
      const second = await slowNode({ jobs: [hourly(recovery, ran)] })
      await clock.advance('1m')
      await second.punctual.idle()
      const gap = steps(start + 4 * hour, start + 204 * hour, hour)
      expect(ran).toEqual(run === 0 ? [] : gap.slice(-run))
      await clock.advance('3h')
      const tally = await accountOf(second.punctual, 'tick', steps(start, clock.wall(), hour))
      expect(tally).toEqual({ completed: 4 + run + 3, ...passed })
      const lines = await historyOf(second.punctual, 'tick')
      expect(lines.filter(({ source, state }) => source === 'recovery' && state === 'completed')).toHaveLength(run)
    })
  }

  it.each(store === 'memory' ? expected : expected.slice(0, 1))(
    'two months of an hourly job whose nodes are up for hours and away for days (%s)',
    async (_, recovery) => {
      const { slowNode, clock, crash } = scene('2026-01-01T00:30:00Z')
      const ran: number[] = []
      const until = start + (days[store] ?? 4) * 24 * hour
      for (let life = 0; clock.wall() < until; life++) {
        const node = await slowNode({ jobs: [hourly(recovery, ran)] })
        await clock.advance(`${2 + (life % 3)}h`)
        if (life % 2 === 0) await node.punctual.stop()
        else crash(node)
        await clock.advance(`${20 + ((life * 37) % 100)}h`)
      }
      const { punctual } = await slowNode({ jobs: [hourly(recovery, ran)] })
      await clock.advance('3h')
      await punctual.idle()
      const tally = await accountOf(punctual, 'tick', steps(start, clock.wall(), hour))
      expect(Object.keys(tally).toSorted()).toEqual(
        Object.keys(tally)
          .filter((state) => ['completed', 'missed', 'skipped'].includes(state))
          .toSorted(),
      )
      expect(new Set(ran).size).toBe(ran.length)
      expect(tally.completed).toBe(ran.length)
    },
  )
})
