import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import type { OverlapPolicy } from '../../src/model/overlap.ts'
import { interval } from '../../src/schedule/interval.ts'
import { untilAborted } from '../support/until-aborted.ts'
import { historyOf, onStores } from './stores.ts'

/** A job of every ten seconds whose runs go on until the test ends them. */
function held(overlap: OverlapPolicy, schedule = interval('PT10S')) {
  const runs: { at: number; end: () => void; fail: () => void }[] = []
  const job = defineJob('tick', { schedule, overlap, retry: { max: 3, interval: '25s', factor: 1 } }).task('only', (ctx) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    runs.push({ at: ctx.scheduledAt.getTime(), end: resolve, fail: () => reject(new Error('not yet')) })
    return Promise.race([promise, untilAborted(ctx)])
  })
  return { job, runs }
}

onStores('JB-8 overlap', (scene) => {
  it('skip: an instant gives way to a running one, and the record says to which', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('skip')
    const one = await node({ jobs: [job] })
    const two = await node({ jobs: [job] })
    await clock.advance('21s')
    expect(runs).toHaveLength(1)
    const [first, second] = await historyOf(one.punctual, 'tick')
    expect(first).toMatchObject({ state: 'running' })
    expect(second).toMatchObject({ state: 'skipped' })
    expect(await one.punctual.get(second?.id as string)).toMatchObject({ reason: `overlap: ${first?.id}` })
    expect([...one.probe.seen('occurrence.passed'), ...two.probe.seen('occurrence.passed')]).toMatchObject([
      { id: second?.id, state: 'skipped' },
    ])
    runs[0]?.end()
    await clock.advance('10s')
    expect(runs).toHaveLength(2)
  })

  it('skip: also while the earlier one is between two tries', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('skip')
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('11s')
    runs[0]?.fail()
    await clock.advance('20s')
    expect((await historyOf(punctual, 'tick')).map(({ state }) => state).slice(0, 3)).toEqual(['retrying', 'skipped', 'skipped'])
  })

  it('allow: they run beside each other', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('allow')
    await node({ jobs: [job] })
    await node({ jobs: [job] })
    await clock.advance('35s')
    expect(runs).toHaveLength(3)
  })

  it('queue: each waits for the one before, in order, also behind one that is between two tries', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('queue')
    const one = await node({ jobs: [job] })
    await node({ jobs: [job] })
    await clock.advance('11s')
    runs[0]?.fail()
    await clock.advance('20s')
    expect((await historyOf(one.punctual, 'tick')).map(({ state }) => state).slice(0, 3)).toEqual([
      'retrying',
      'waiting',
      'waiting',
    ])
    await clock.advance('6s')
    for (let at = 1; at < 5; at++) {
      expect(runs).toHaveLength(at + 1)
      runs[at]?.end()
      await clock.advance('1s')
    }
    const dues = runs.slice(1).map(({ at }) => at)
    expect(dues).toEqual(dues.toSorted((a, b) => a - b))
    expect(new Set(dues).size).toBe(dues.length)
  })

  it('queue-one: one waits, the others give way to it', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('queue-one')
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('41s')
    const states = (await historyOf(punctual, 'tick')).map(({ state }) => state).slice(0, 4)
    expect(states).toEqual(['running', 'waiting', 'skipped', 'skipped'])
    runs[0]?.end()
    await clock.advance('1s')
    expect((await historyOf(punctual, 'tick')).map(({ state }) => state).slice(0, 2)).toEqual(['completed', 'running'])
  })

  it('cancel-previous: the running one is asked to end, and the next starts after it', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('cancel-previous')
    const one = await node({ jobs: [job] })
    await node({ jobs: [job] })
    await clock.advance('12s')
    await clock.advance('10s')
    const [first, second] = await historyOf(one.punctual, 'tick')
    expect(first).toMatchObject({ state: 'canceled' })
    expect(second).toMatchObject({ state: 'running' })
    expect(await one.punctual.get(first?.id as string)).toMatchObject({ reason: `gave way to ${second?.id}` })
    expect(runs).toHaveLength(2)
  })

  it('cancel-previous: one between two tries ends at once', async () => {
    const { node, clock } = scene()
    const { job, runs } = held('cancel-previous')
    const { punctual } = await node({ jobs: [job] })
    await clock.advance('11s')
    runs[0]?.fail()
    await clock.advance('10s')
    expect((await historyOf(punctual, 'tick')).map(({ state }) => state).slice(0, 2)).toEqual(['canceled', 'running'])
  })

  it.each(['skip', 'cancel-previous'] as const)(
    'a trigger and a replay queue behind a running one under %s, and enqueued work does not mind',
    async (overlap) => {
      const { node, clock } = scene()
      const { job, runs } = held(overlap, interval('PT1H'))
      const { punctual } = await node({ jobs: [job] })
      const { id: first } = await punctual.trigger(job)
      await clock.advance('1s')
      const { id: second } = await punctual.trigger(job)
      const { id: enqueued } = await punctual.enqueue(job, undefined)
      await clock.advance('1s')
      expect(await punctual.get(first)).toMatchObject({ state: 'running' })
      expect(await punctual.get(second)).toMatchObject({ state: 'waiting' })
      expect(await punctual.get(enqueued)).toMatchObject({ state: 'running' })
      for (const run of runs) run.end()
      await clock.advance('1s')
      const { id: replay } = await punctual.replay(first, { reason: 'once more' })
      await clock.advance('1s')
      expect(await punctual.get(second)).toMatchObject({ state: 'running' })
      expect(await punctual.get(replay)).toMatchObject({ state: 'waiting' })
      runs.at(-1)?.end()
      await clock.advance('1s')
      expect(await punctual.get(replay)).toMatchObject({ state: 'running' })
      runs.at(-1)?.end()
    },
  )

  it('F16 a crashed holder frees its key after its rescue, and the schedule goes on', async () => {
    const { node, clock, crash } = scene()
    const { job, runs } = held('skip')
    const one = await node({ jobs: [job] })
    await clock.advance('11s')
    expect(runs).toHaveLength(1)
    crash(one)
    const two = await node({ jobs: [held('skip').job] })
    await clock.advance('19s')
    // The lost one is tried again by the other node and holds the key until it ends.
    await clock.advance('22s')
    const lines = await historyOf(two.punctual, 'tick')
    expect(lines[0]).toMatchObject({ state: 'running', turn: 2 })
    await two.punctual.cancel(lines[0]?.id as string)
    await clock.advance('11s')
    expect((await historyOf(two.punctual, 'tick')).filter(({ state }) => state === 'running')).toHaveLength(1)
  })

  it('F04 a handler that always kills its node ends dead, and the schedule goes on without it', async () => {
    const { node, clock, crash } = scene()
    const victims: { crash: () => void }[] = []
    const bad = () =>
      defineJob('tick', { schedule: interval('PT10M'), overlap: 'queue' }).task('only', () => {
        victims.at(-1)?.crash()
        return new Promise(() => {})
      })
    for (let life = 0; life < 3; life++) {
      const one = await node({ jobs: [bad()] })
      victims.push({ crash: () => crash(one) })
      await clock.advance(life === 0 ? '10m' : '40s')
      await clock.advance('5s')
    }
    const last = await node({
      jobs: [defineJob('tick', { schedule: interval('PT10M'), overlap: 'queue' }).task('only', () => 'fine')],
    })
    await clock.advance('40s')
    const [first] = await historyOf(last.punctual, 'tick')
    expect(first).toMatchObject({ state: 'dead' })
    await clock.advance('10m')
    expect((await historyOf(last.punctual, 'tick'))[1]).toMatchObject({ state: 'completed' })
  })
})
