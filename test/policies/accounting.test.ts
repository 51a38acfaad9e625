// Random policies, random downtimes, pauses and updates: whatever happens, every instant is accounted for exactly once.
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { overlapPolicies } from '../../src/model/overlap.ts'
import type { RecoveryOptions } from '../../src/model/recovery.ts'
import { cron } from '../../src/schedule/cron.ts'
import type { Node } from '../support/cluster.ts'
import { accountOf, onStores, steps } from './stores.ts'

const minutes = 60_000
const recoveries: readonly RecoveryOptions[] = [
  'all',
  'last',
  'mark-missed',
  'compressed',
  { strategy: 'bounded', maxOccurrences: 2 },
  { strategy: 'bounded', maxAge: '50m' },
]

const step = fc.record({
  act: fc.constantFrom('live', 'live', 'stop', 'crash', 'start', 'start', 'sleep', 'pause', 'resume', 'touch', 'cut'),
  minutes: fc.integer({ min: 1, max: 90 }),
})

const runs: Record<string, number> = { memory: 15, sqlite: 2, postgres: 1 }

onStores('JB-15 accounting', (scene, store) => {
  it('under random policies, downtimes, sleeps, pauses and updates every instant is accounted for exactly once', async () => {
    const life = fc.record({
      recovery: fc.constantFrom(...recoveries),
      overlap: fc.constantFrom(...overlapPolicies),
      workMs: fc.constantFrom(0, 15 * minutes),
      steps: fc.array(step, { minLength: 3, maxLength: 10 }),
    })
    const run = async ({ recovery, overlap, workMs, steps: acts }: typeof life extends fc.Arbitrary<infer T> ? T : never) => {
      const { slowNode, client, clock, crash } = scene('2026-01-01T00:05:00Z')
      const begun = clock.wall()
      const runs = new Map<number, number>()
      const job = () =>
        defineJob('tick', { schedule: cron('*/10 * * * *', { timezone: 'UTC' }), recovery, overlap, retry: { max: 0 } }).task(
          'only',
          async (ctx) => {
            runs.set(ctx.scheduledAt.getTime(), (runs.get(ctx.scheduledAt.getTime()) ?? 0) + 1)
            if (workMs === 0) return
            await new Promise<void>((resolve) => {
              const stop = clock.timer(workMs, resolve)
              ctx.signal.addEventListener('abort', () => {
                stop()
                resolve()
              })
            })
            if (ctx.signal.aborted) throw ctx.signal.reason
          },
        )
      const options = { node: { heartbeat: '1m', timeout: '3m' } } as const
      const person = client().punctual
      let crashes = 0
      let node: Node | null = await slowNode({ jobs: [job()], ...options })
      await clock.advance('1s')
      for (const { act, minutes: many } of acts) {
        if (act === 'stop' && node) {
          const stopping: Promise<void> = node.punctual.stop({ grace: '1s' })
          await clock.advance('2s')
          await stopping
          node = null
        } else if (act === 'crash' && node) {
          crash(node)
          crashes++
          node = null
        } else if (act === 'start') node ??= await slowNode({ jobs: [job()], ...options })
        else if (act === 'sleep') clock.jump(many * minutes)
        else if (act === 'pause') await person.pause('tick')
        else if (act === 'resume') await person.resume('tick')
        else if (act === 'touch') await person.update('tick', { priority: many % 10 })
        else if (act === 'cut' && node) {
          node.store.cut()
          await clock.advance(many * minutes)
          node.store.heal()
        }
        await clock.advance(many * minutes)
      }
      await person.resume('tick')
      node ??= await slowNode({ jobs: [job()], ...options })
      // Time enough for what is queued to come to its end.
      await person.update('tick', { schedule: null })
      const end = clock.wall()
      await clock.advance('20h')
      const tally = await accountOf(node.punctual, 'tick', steps(begun, end - 1, 10 * minutes))
      const open = (tally.pending ?? 0) + (tally.waiting ?? 0) + (tally.running ?? 0) + (tally.retrying ?? 0)
      expect({ open }).toEqual({ open: 0 })
      const repeated = [...runs.values()].filter((count) => count > 1).length
      if (crashes === 0 && !acts.some(({ act }) => ['cut', 'stop', 'sleep'].includes(act))) expect(repeated).toBe(0)
      await node.punctual.close()
    }
    await fc.assert(fc.asyncProperty(life, run), { numRuns: runs[store] ?? 1, seed: 20_260_101, endOnFailure: false })
  })
})
