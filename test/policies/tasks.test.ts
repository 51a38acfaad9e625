import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { historyOf, onStores } from './stores.ts'

const hourly = cron('0 * * * *', { timezone: 'UTC' })

/** Code of one release: a job of these tasks, which notes what it runs. */
function release(label: string, tasks: readonly string[], ran: string[], options: object = {}) {
  let job = defineJob('steps', options) as ReturnType<typeof defineJob>
  for (const task of tasks)
    job = job.task(
      task,
      ({ scheduledAt }) => void ran.push(`${label} ${task} ${scheduledAt.toISOString().slice(11, 13)}`),
    ) as typeof job
  return job
}

onStores('JB-21 changed tasks', (scene) => {
  it('old code never runs work of a version with a task it lacks, planned, enqueued or of another tenant', async () => {
    const { node, client, clock } = scene('2026-01-01T00:59:45Z')
    const ran: string[] = []
    const old = await node({ jobs: [release('old', ['a', 'b'], ran, { schedule: hourly, overlap: 'allow' })] })
    const fresh = await node({ jobs: [release('new', ['a', 'b', 'c'], ran, { schedule: hourly, overlap: 'allow' })] })
    await clock.advance('10s')
    await fresh.punctual.stop()
    const stranger = client().punctual
    const ids = [
      (await old.punctual.enqueue('steps', undefined)).id,
      (await stranger.enqueue('steps', undefined, { tenant: 'acme' })).id,
      (await stranger.trigger('steps')).id,
    ]
    // The old node waits for two ttls before it takes the newer declaration back.
    await clock.advance('25s')
    expect(ran).toEqual([])
    for (const id of ids) expect(await stranger.get(id)).toMatchObject({ state: 'pending' })
    expect(await stranger.explain(ids[0] as string)).toMatchObject({ reasons: [{ code: 'no-handler' }] })
    const again = await node({ jobs: [release('new', ['a', 'b', 'c'], ran, { schedule: hourly, overlap: 'allow' })] })
    await clock.advance('10s')
    await again.punctual.idle()
    expect(ran.filter((line) => line.startsWith('old'))).toEqual([])
    expect(ran).toHaveLength(12)
  })

  it('while both run, each takes what it can: the old one goes on with old work', async () => {
    const { node, clock } = scene('2026-01-01T00:30:00Z')
    const ran: string[] = []
    const old = await node({ jobs: [release('old', ['a'], ran)] })
    await clock.advance('1s')
    await old.punctual.enqueue('steps', undefined, { delay: '1m' })
    // The new one could run both: it is busy until the old work has run.
    const gate = Promise.withResolvers<void>()
    const busy = defineJob('busy').task('only', () => gate.promise)
    const fresh = await node({ jobs: [release('new', ['a', 'b'], ran), busy], concurrency: 1 })
    await fresh.punctual.enqueue(busy, undefined)
    await clock.advance('1s')
    await fresh.punctual.enqueue('steps', undefined, { delay: '1m' })
    await clock.advance('2m')
    gate.resolve()
    await clock.advance('1m')
    expect(ran.filter((line) => line.startsWith('new b'))).toHaveLength(1)
    expect(ran.filter((line) => line.includes(' a '))).toHaveLength(2)
  })

  it('adding a task: planned instants get it, enqueued work runs by the code that takes it', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:59:55Z')
    const ran: string[] = []
    const old = await slowNode({ jobs: [release('v1', ['a'], ran, { schedule: hourly })] })
    expect(await old.punctual.counts({ job: 'steps' })).toMatchObject({ pending: 1 })
    await old.punctual.enqueue('steps', undefined, { delay: '2h' })
    await old.punctual.stop()
    const { punctual } = await slowNode({ jobs: [release('v2', ['a', 'b'], ran, { schedule: hourly })] })
    await clock.advance('10s')
    expect(ran).toEqual(['v2 a 01', 'v2 b 01'])
    ran.length = 0
    await clock.advance('2h')
    expect(ran.filter((line) => line.endsWith('02'))).toEqual(['v2 a 02', 'v2 b 02', 'v2 a 02', 'v2 b 02'])
    expect((await historyOf(punctual, 'steps')).every(({ state }) => state === 'completed')).toBe(true)
  })

  it('removing and renaming a task: what was pending runs without it, and nothing is stuck', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:30:00Z')
    const ran: string[] = []
    const first = await slowNode({ jobs: [release('v1', ['a', 'b', 'c'], ran)] })
    const { id } = await first.punctual.enqueue('steps', undefined, { delay: '1h' })
    await first.punctual.stop()
    const second = await slowNode({ jobs: [release('v2', ['a', 'c'], ran)] })
    const { id: later } = await second.punctual.enqueue('steps', undefined, { delay: '2h' })
    await clock.advance('61m')
    expect(ran).toEqual(['v2 a 01', 'v2 c 01'])
    await second.punctual.stop()
    const { punctual } = await slowNode({ jobs: [release('v3', ['only'], ran)] })
    await clock.advance('61m')
    expect(ran.at(-1)).toBe('v3 only 02')
    for (const one of [id, later]) expect(await punctual.get(one)).toMatchObject({ state: 'completed' })
  })

  it('reordering makes no new edition: old and new code share the work', async () => {
    const { node, clock } = scene()
    const ran: string[] = []
    await node({ jobs: [release('v1', ['a', 'b'], ran)] })
    await clock.advance('1s')
    const fresh = await node({ jobs: [release('v2', ['b', 'a'], ran)] })
    await clock.advance('1s')
    await fresh.punctual.stop()
    await fresh.punctual.enqueue('steps', undefined)
    await clock.advance('2s')
    expect(ran.map((line) => line.slice(0, 4))).toEqual(['v1 a', 'v1 b'])
  })

  it('a running occurrence goes on as it began, and a parked one keeps its finished tasks', async () => {
    const { node, clock } = scene()
    const ran: string[] = []
    const gate = Promise.withResolvers<void>()
    const v1 = defineJob('steps', { retry: { max: 2, interval: '1m', factor: 1 } })
      .task('a', ({ payload }) => void ran.push(`v1 a ${payload}`))
      .task('b', async ({ payload }) => {
        ran.push(`v1 b ${payload}`)
        if (payload === 'parked') throw new Error('not yet')
        await gate.promise
      })
    const v2 = defineJob('steps', { retry: { max: 2, interval: '1m', factor: 1 } })
      .task('a', ({ payload }) => void ran.push(`v2 a ${payload}`))
      .task('b', ({ payload }) => void ran.push(`v2 b ${payload}`))
      .task('c', ({ payload }) => void ran.push(`v2 c ${payload}`))
    const old = await node({ jobs: [v1] })
    const { id: running } = await old.punctual.enqueue('steps', 'running')
    const { id: parked } = await old.punctual.enqueue('steps', 'parked')
    await clock.advance('2s')
    expect(await old.punctual.get(parked)).toMatchObject({ state: 'retrying' })
    const fresh = await node({ jobs: [v2] })
    await clock.advance('10s')
    gate.resolve()
    await old.punctual.stop()
    await clock.advance('2m')
    expect(await fresh.punctual.get(running)).toMatchObject({ state: 'completed' })
    expect(await fresh.punctual.get(parked)).toMatchObject({ state: 'completed' })
    expect(ran.filter((line) => line.endsWith('running'))).toEqual(['v1 a running', 'v1 b running'])
    expect(ran.filter((line) => line.endsWith('parked'))).toEqual(['v1 a parked', 'v1 b parked', 'v2 b parked', 'v2 c parked'])
  })

  it('A → B → A → B: an old node that stayed never takes the work of B', async () => {
    const { node, clock } = scene()
    const ran: string[] = []
    const stayed = await node({ jobs: [release('A', ['a'], ran)] })
    await clock.advance('1s')
    const b = await node({ jobs: [release('B', ['a', 'b'], ran)] })
    await clock.advance('5s')
    await b.punctual.stop()
    const rollback = await node({ jobs: [release('A', ['a'], ran)] })
    await clock.advance('2m')
    expect((await stayed.punctual.versions('steps')).map(({ spec }) => spec.edition)).toEqual([undefined, 2, 3])
    // All that is there runs on the rolled back code, what B left behind included.
    await stayed.punctual.enqueue('steps', undefined)
    await clock.advance('2s')
    expect(ran.map((line) => line.slice(0, 3))).toEqual(['A a'])
    await rollback.punctual.stop()
    await stayed.punctual.stop()
    const forward = await node({ jobs: [release('B', ['a', 'b'], ran)] })
    await clock.advance('1m')
    const late = await node({ jobs: [release('A', ['a'], ran)] })
    await clock.advance('5s')
    await forward.punctual.stop()
    const { id } = await forward.punctual.enqueue('steps', undefined)
    await clock.advance('2s')
    expect(await late.punctual.get(id)).toMatchObject({ state: 'pending' })
    expect(ran).toHaveLength(1)
  })

  it('jobs of other names go by the tasks of the code that scheduled them', async () => {
    const { node, clock } = scene('2026-01-01T00:59:30Z')
    const ran: string[] = []
    const old = await node({ jobs: [release('v1', ['a'], ran)] })
    await clock.advance('1s')
    await old.punctual.schedule('steps', hourly, { name: 'steps/acme' })
    const fresh = await node({ jobs: [release('v2', ['a', 'b'], ran)] })
    await clock.advance('10s')
    await fresh.punctual.schedule('steps', hourly, { name: 'steps/globex' })
    await fresh.punctual.stop()
    await clock.advance('25s')
    expect(ran.map((line) => line.slice(0, 4))).toEqual(['v1 a'])
    expect((await historyOf(old.punctual, 'steps/globex')).map(({ state }) => state)).toEqual(['pending'])
  })
})
