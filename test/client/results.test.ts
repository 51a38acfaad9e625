import { describe, expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const echo = defineJob<string>('echo', { retry: { max: 1, interval: '1s' } }, ({ payload, fail }) =>
  payload === 'bad' ? fail('no luck') : `${payload}!`,
)

onEachStore('BL-3 results', (newDatabase) => {
  it('a handle resolves with the result of the run, before and after its end', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [echo] })
    const handle = await punctual.enqueue(echo, 'one')
    expect(await handle.result()).toBe('one!')
    expect(await handle.result({ timeout: '1s' })).toBe('one!')
    expect(await punctual.result(handle.id)).toBe('one!')
    const many = await punctual.enqueueMany([
      { job: echo, payload: 'two' },
      { job: echo, payload: 'three' },
    ])
    expect(await Promise.all(many.map((one) => one.result()))).toEqual(['two!', 'three!'])
    expect(await (await punctual.trigger(echo, { payload: 'four' })).result()).toBe('four!')
    expect(await (await punctual.replay(handle.id, { reason: 'again' })).result()).toBe('one!')
    expect(await (await punctual.tenant('acme').enqueue(echo, 'five', { key: 'k' })).result()).toBe('five!')
    expect(await punctual.tenant('acme').result({ job: echo, key: 'k' })).toBe('five!')
    await expect(punctual.tenant('acme').result(handle.id)).rejects.toMatchObject({ code: 'occurrence.unknown' })
  })

  it('another process gets the result by id or key, when it looks again', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    await node({ jobs: [echo] })
    const shop = client()
    const { id } = await shop.punctual.enqueue('echo', 'one', { idempotencyKey: 'k', delay: '1m' })
    const results = Promise.all([
      shop.punctual.result(id),
      shop.punctual.result({ job: 'echo', idempotencyKey: 'k' }, { timeout: '1h' }),
    ])
    await clock.settle()
    const before = shop.store.calls('get')
    await clock.advance('30s')
    // A poll is late rather than frequent: the wait grows to two seconds.
    expect(shop.store.calls('get') - before).toBeLessThan(60)
    await clock.advance('40s')
    expect(await results).toEqual(['one!', 'one!'])
    const pending = clock.pending
    await clock.advance('1s')
    expect(clock.pending).toBeLessThanOrEqual(pending)
  })

  it('a key stays with the occurrence that the call has found', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [echo] })
    await punctual.enqueue(echo, 'one', { key: 'k', delay: '1m' })
    const result = client().punctual.result({ job: echo, key: 'k' })
    await clock.settle()
    await punctual.reschedule({ job: echo, key: 'k' }, { delay: 0 })
    await punctual.idle()
    await punctual.enqueue(echo, 'two', { key: 'k', delay: '1h' })
    await clock.advance('5s')
    expect(await result).toBe('one!')
  })

  it('a run that ends badly rejects with its state, and the recorded error as the cause', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const scheduled = defineJob('scheduled', { retry: { max: 0 } }, () => {
      throw new TypeError('no route', { cause: new Error('cable') })
    })
    const { punctual } = await node({ jobs: [echo, scheduled] })
    const dead = await punctual.enqueue(echo, 'bad')
    const failed = await punctual.enqueue(scheduled, undefined, { deadLetter: false })
    const canceled = await punctual.enqueue(echo, 'later', { delay: '1h' })
    const ends = Promise.allSettled([dead.result(), failed.result(), canceled.result()])
    await punctual.cancel(canceled.id, { reason: 'paid' })
    await clock.advance('5s')
    const [one, two, three] = (await ends).map((end) => (end as PromiseRejectedResult).reason)
    expect(one).toMatchObject({
      code: 'occurrence.dead',
      message: `Occurrence ${dead.id} of job "echo" ended as dead: no luck`,
      details: { id: dead.id, job: 'echo', state: 'dead' },
      cause: { message: 'no luck', name: 'TaskFailure' },
    })
    expect(one.cause).toBeInstanceOf(Error)
    expect(two).toMatchObject({
      code: 'occurrence.failed',
      cause: { message: 'no route', name: 'TypeError', cause: { message: 'cable' } },
    })
    expect(three).toMatchObject({ code: 'occurrence.canceled', details: { reason: 'paid' } })
    expect(three.cause).toBeUndefined()
  })

  it('a skipped and a missed run reject too', async () => {
    const { node, client, clock } = newCluster({ connect: newDatabase(), start: '2026-01-01T00:00:30Z' })
    const long = defineJob('long', { schedule: cron('* * * * *'), overlap: 'skip' }, () => new Promise(() => {}))
    const { punctual } = await node({ jobs: [long] })
    await clock.advance('2m')
    const [skipped] = (await punctual.list({ job: long, state: 'skipped' })).items
    await expect(punctual.result(skipped?.id as string)).rejects.toMatchObject({ code: 'occurrence.skipped' })
    const late = await client().punctual.enqueue('late', 1, { startWithin: '1s' })
    const missed = expect(late.result()).rejects.toMatchObject({ code: 'occurrence.missed' })
    await clock.advance('1m')
    await missed
  })

  it('a timeout and a signal end the wait, not the work', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { punctual } = await node({ jobs: [echo] })
    const handle = await punctual.enqueue(echo, 'one', { delay: '1m' })
    const late = expect(handle.result({ timeout: '10s' })).rejects.toMatchObject({
      code: 'result.timeout',
      details: { target: handle.id, timeoutMs: 10_000 },
    })
    const controller = new AbortController()
    const aborted = expect(handle.result({ signal: controller.signal })).rejects.toThrow('enough')
    await clock.settle()
    controller.abort(new Error('enough'))
    await aborted
    await expect(handle.result({ signal: controller.signal })).rejects.toThrow('enough')
    await clock.advance('10s')
    await late
    await clock.advance('1m')
    expect(await handle.result()).toBe('one!')
  })

  it('what does not exist is unknown, and close ends the wait', async () => {
    const { client } = newCluster({ connect: newDatabase() })
    const { punctual } = client()
    await expect(punctual.result('00000000-0000-0000-0000-000000000000')).rejects.toMatchObject({ code: 'occurrence.unknown' })
    const handle = await punctual.enqueue('echo', 'one')
    const waiting = expect(handle.result()).rejects.toMatchObject({ code: 'punctual.closed' })
    await punctual.close()
    await waiting
    await expect(handle.result()).rejects.toMatchObject({ code: 'punctual.closed' })
  })

  it('of several last tasks the result has the values of all tasks, by name', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const graph = defineJob('graph', { mode: 'graph' })
      .task('read', () => 1)
      .task('write', { after: ['read'] }, ({ results }) => results.read + 1)
      .task('send', { after: ['read'], onFailure: 'continue', retry: { max: 0 } }, ({ fail }) => fail('no route'))
      .task('log', { after: ['read'] }, () => ({ at: new Date(0) }))
    const side = defineJob('side', { mode: 'parallel' })
      .task('a', () => 'a')
      .task('b', () => undefined)
    const joined = defineJob('joined', { mode: 'graph' })
      .task('a', () => 1)
      .task('b', () => 2)
      .task('sum', { after: ['a', 'b'] }, ({ results }) => results.a + results.b)
    const { punctual } = await node({ jobs: [graph, side, joined] })
    const first = await punctual.enqueue(graph)
    const all = { read: 1, write: 2, send: undefined, log: { at: '1970-01-01T00:00:00.000Z' } }
    expect(await first.result()).toEqual(all)
    expect((await punctual.get(graph, first.id))?.result).toEqual(all)
    expect(await (await punctual.enqueue(side)).result()).toEqual({ a: 'a', b: undefined })
    expect(await (await punctual.enqueue(joined)).result()).toBe(3)
    // A replay of single tasks has the values that it has taken over, too.
    const part = await punctual.replay<typeof graph>(first.id, { reason: 'once more', tasks: ['write'] })
    expect(await part.result()).toMatchObject({ read: 1, write: 2, log: all.log })
  })
})

describe('BL-3 the wait for a result', () => {
  it('lasts through an outage of the store', async () => {
    const { node, clock } = newCluster()
    const { punctual, store } = await node({ jobs: [echo] })
    const handle = await punctual.enqueue(echo, 'one', { delay: '1s' })
    store.cut()
    const result = handle.result()
    await clock.advance('5s')
    store.heal()
    await clock.advance('30s')
    expect(await result).toBe('one!')
  })

  it('refuses wrong options', async () => {
    const { client } = newCluster()
    const { punctual } = client()
    const refused = (options: unknown) => expect(punctual.result('id', options as never)).rejects
    await refused({ timeOut: 1 }).toMatchObject({ code: 'option.unknown' })
    await refused({ timeout: 'soon' }).toMatchObject({ code: 'duration.invalid' })
    await refused({ signal: 7 }).toMatchObject({ code: 'option.invalid' })
  })
})
