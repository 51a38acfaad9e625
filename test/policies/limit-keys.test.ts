import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { onStores } from './stores.ts'

/** Names of running and ended runs, and a way to end the running ones. */
function gates() {
  const running: string[] = []
  const ends: (() => void)[] = []
  const run = async (name: string) => {
    running.push(name)
    const { promise, resolve } = Promise.withResolvers<void>()
    ends.push(resolve)
    await promise
    running.splice(running.indexOf(name), 1)
  }
  return { running, run, endAll: () => ends.splice(0).forEach((end) => void end()) }
}

onStores('JB-9 limit keys', (scene) => {
  it('made of the payload: at most so many for each customer', async () => {
    const { slowNode, clock } = scene()
    const { running, run, endAll } = gates()
    const calls: unknown[] = []
    const job = defineJob<{ customer: string; n: number }>(
      'bill',
      {
        concurrency: {
          key: (payload) => {
            calls.push(payload.n)
            return payload.customer
          },
          limit: 1,
        },
      },
      ({ payload }) => run(`${payload.customer} ${payload.n}`),
    )
    const { punctual } = await slowNode({ jobs: [job] })
    await punctual.enqueue(job, { customer: 'acme', n: 1 })
    await punctual.enqueueMany([
      { job, payload: { customer: 'acme', n: 2 } },
      { job, payload: { customer: 'globex', n: 3 } },
    ])
    await clock.advance('1s')
    expect(running.toSorted()).toEqual(['acme 1', 'globex 3'])
    endAll()
    await clock.advance('1s')
    expect(running).toEqual(['acme 2'])
    endAll()
    await clock.advance('1s')
    expect(calls).toEqual([1, 2, 3])
    expect(await punctual.counts({ job })).toMatchObject({ completed: 3 })
  })

  it('made of the payload of a job with a schedule, and of the one that a person gives it', async () => {
    const { slowNode, clock } = scene('2026-01-01T00:00:30Z')
    const { running, run, endAll } = gates()
    const job = defineJob<{ customer: string }>(
      'sync',
      { concurrency: { key: ({ customer }) => customer, limit: 1 } },
      ({ payload, job: name }) => run(`${name} ${payload.customer}`),
    )
    const { punctual } = await slowNode({ jobs: [job] })
    const minutely = cron('* * * * *', { timezone: 'UTC' })
    for (const [name, customer] of [
      ['a', 'acme'],
      ['b', 'acme'],
      ['c', 'globex'],
    ] as const)
      await punctual.schedule(job, minutely, { name, payload: { customer } })
    await clock.advance('40s')
    expect(running).toHaveLength(2)
    expect(running).toContain('c globex')
    endAll()
    await clock.advance('1s')
    endAll()
    await punctual.update('b', { payload: { customer: 'initech' } })
    await clock.advance('1m')
    expect(running.toSorted()).toEqual(['a acme', 'b initech', 'c globex'])
    endAll()
  })

  it('of a number: at most so many of the job', async () => {
    const { slowNode, clock } = scene()
    const { running, run, endAll } = gates()
    const job = defineJob('five', { concurrency: 2 }, ({ payload }) => run(String(payload)))
    const other = defineJob('other', { concurrency: { key: 'five', limit: 1 } }, () => run('other'))
    const { punctual } = await slowNode({ jobs: [job, other] })
    await punctual.enqueueMany([...[1, 2, 3].map((payload) => ({ job, payload })), { job: other }])
    await clock.advance('1s')
    expect(running.toSorted()).toEqual(['1', '2', 'other'])
    endAll()
    await clock.advance('1s')
    expect(running).toEqual(['3'])
    endAll()
  })

  it('made of the payload need the definition: work by name from elsewhere is refused, unless it brings its limit', async () => {
    const { slowNode, client, clock } = scene()
    const job = defineJob<{ customer: string }>(
      'bill',
      { rate: { key: ({ customer }) => customer, limit: 1, per: '1m' } },
      () => 1,
    )
    const { punctual } = await slowNode({ jobs: [job] })
    await clock.advance('1s')
    const { punctual: elsewhere } = client()
    await expect(elsewhere.enqueue('bill', { customer: 'acme' })).rejects.toMatchObject({ code: 'definition.unknown' })
    await elsewhere.enqueue('bill', { customer: 'acme' }, { rate: { key: 'acme', limit: 1, per: '1m' } })
    await punctual.enqueue(job, { customer: 'acme' })
    await clock.advance('1s')
    expect(await punctual.counts({ job })).toMatchObject({ completed: 1, waiting: 1 })
  })

  it('that are no text are refused, and so are those that throw', async () => {
    const { client } = scene()
    const job = defineJob<{ customer?: string }>('bill', { concurrency: { key: ({ customer }) => customer as string, limit: 1 } })
    const { punctual } = client({ jobs: [job] })
    await expect(punctual.enqueue(job, {})).rejects.toMatchObject({ code: 'key.invalid' })
    await expect(punctual.enqueue('bill')).rejects.toMatchObject({ code: 'option.invalid' })
    await expect(
      punctual.schedule(job, cron('* * * * *'), { payload: {}, concurrency: { key: (() => 'x') as never, limit: 1 } }),
    ).rejects.toMatchObject({ code: 'option.invalid' })
  })
})
