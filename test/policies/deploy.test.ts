import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { onStores } from './stores.ts'

const at = (hours: string) => cron(`0 ${hours} * * *`, { timezone: 'UTC' })
const code = (schedule: string) => defineJob('daily', { schedule: at(schedule) }).task('only', () => 1)

onStores('JB-20 rolling deployments', (scene) => {
  const text = async (punctual: { jobs(): Promise<{ items: readonly { version: number; schedule: unknown }[] }> }) => {
    const {
      items: [job],
    } = await punctual.jobs()
    return job && [job.version, (job.schedule as { text: string }).text]
  }

  it('old and new code side by side do not flap', async () => {
    const { node, clock } = scene()
    const old = await node({ jobs: [code('18')] })
    const fresh = await node({ jobs: [code('9')] })
    await clock.advance('5m')
    expect(await text(fresh.punctual)).toEqual([2, '0 9 * * *'])
    await old.punctual.stop()
    const oldAgain = await node({ jobs: [code('18')] })
    await clock.advance('5m')
    expect(await text(oldAgain.punctual)).toEqual([2, '0 9 * * *'])
  })

  it('an old node that crash-loops does not flap, also after a person has changed the job', async () => {
    const { node, clock, crash } = scene()
    const old = await node({ jobs: [code('18')] })
    const fresh = await node({ jobs: [code('9')] })
    await clock.advance('10s')
    await fresh.punctual.update('daily', { priority: 2 })
    crash(old)
    for (let life = 0; life < 4; life++) {
      const looping = await node({ jobs: [code('18')] })
      await clock.advance('7s')
      crash(looping)
    }
    await clock.advance('1m')
    expect(await text(fresh.punctual)).toEqual([3, '0 9 * * *'])
    await fresh.punctual.stop()
    const next = await node({ jobs: [code('9')] })
    await clock.advance('1m')
    expect(await text(next.punctual)).toEqual([3, '0 9 * * *'])
  })

  it('a new node that starts again beside an old one keeps the say', async () => {
    const { node, clock } = scene()
    const fresh = await node({ jobs: [code('18')] })
    await fresh.punctual.stop()
    const newest = await node({ jobs: [code('9')] })
    const old = await node({ jobs: [code('18')] })
    for (let restart = 0; restart < 3; restart++) {
      await clock.advance('20s')
      await newest.punctual.stop()
      await clock.advance('10s')
      await newest.punctual.start()
    }
    await clock.advance('1m')
    expect(await text(old.punctual)).toEqual([2, '0 9 * * *'])
  })

  it('one process may change its mind: A → B → A by schedule() holds at once', async () => {
    const { node, client, clock } = scene()
    const job = defineJob('daily').task('only', () => 1)
    const { punctual } = await node({ jobs: [job] })
    for (const hours of ['18', '9', '18']) {
      expect(await punctual.schedule(job, at(hours), { name: 'named' })).toMatchObject({
        outcome: hours === '18' && clock.mono() === 0 ? 'created' : 'updated',
      })
      await clock.advance('10s')
    }
    // And so may scripts that come and go.
    for (const hours of ['9', '18', '9'])
      expect(await client().punctual.schedule(job, at(hours), { name: 'other' })).not.toMatchObject({ outcome: 'left' })
  })

  it('a true rollback works: once no node has the newer code, the older declaration holds', async () => {
    const { node, clock } = scene()
    await node({ jobs: [code('18')] })
    const fresh = await node({ jobs: [code('9')] })
    await clock.advance('10s')
    const back = await node({ jobs: [code('18')] })
    await clock.advance('10s')
    expect(await text(back.punctual)).toEqual([2, '0 9 * * *'])
    await fresh.punctual.stop()
    await clock.advance('2m')
    expect(await text(back.punctual)).toEqual([3, '0 18 * * *'])
  })

  it('the same when the newer nodes crash', async () => {
    const { node, clock, crash } = scene()
    const fresh = await node({ jobs: [code('18')] })
    await clock.advance('1s')
    const newest = await node({ jobs: [code('9')] })
    await clock.advance('10s')
    crash(newest)
    await fresh.punctual.stop()
    const back = await node({ jobs: [code('18')] })
    await clock.advance('3m')
    expect(await text(back.punctual)).toEqual([3, '0 18 * * *'])
  })

  it.each([
    ['closes', {}, {}],
    ['closes before anybody has seen it', {}, {}],
    ['crashes', {}, {}],
    ['of a later release closes', { release: 1 }, { release: 2 }],
  ])('an aborted deployment: the canary %s, and the old nodes declare and run their job again', async (how, older, newer) => {
    const { node, clock, crash } = scene()
    const ran: string[] = []
    const v1 = defineJob('hourly', { schedule: at('*') }).task('old', ({ source }) => void ran.push(source))
    const v2 = defineJob('hourly', { schedule: at('12') }).task('new', () => 1)
    const old = await node({ jobs: [v1], ...older })
    await clock.advance('10s')
    const canary = await node({ jobs: [v2], ...newer })
    if (how !== 'closes before anybody has seen it') await clock.advance('10s')
    expect(await text(old.punctual)).toEqual([2, '0 12 * * *'])
    const { id } = await canary.punctual.enqueue('hourly', undefined, { delay: '30m' })
    if (how === 'crashes') crash(canary)
    else await canary.punctual.close()
    await clock.advance('2m')
    expect(await text(old.punctual)).toEqual([3, '0 * * * *'])
    await clock.advance('1h')
    expect(ran).toEqual(['deferred', 'schedule'])
    expect((await old.punctual.get(id))?.state).toBe('completed')
  })

  it('release orders: code of an earlier release declares nothing while a later one lives, new text or old', async () => {
    const { node, clock } = scene()
    const later = await node({ jobs: [code('9')], release: 20 })
    await clock.advance('10s')
    await node({ jobs: [code('12')], release: 10 })
    await clock.advance('2m')
    expect(await text(later.punctual)).toEqual([1, '0 9 * * *'])
    // And the later one wins although it says what an older version said.
    const latest = await node({ jobs: [code('12')], release: 30 })
    await clock.advance('10s')
    expect(await text(latest.punctual)).toEqual([2, '0 12 * * *'])
    await node({ jobs: [code('9')], release: 40 })
    await clock.advance('10s')
    expect(await text(latest.punctual)).toEqual([3, '0 9 * * *'])
  })

  it('a node of an earlier release does not declare again while a later one is in the middle of it', async () => {
    const { node, client, clock } = scene()
    const earlier = await node({ jobs: [code('18')], release: 1 })
    const later = client({ jobs: [code('9')], release: 2 })
    const letThrough = later.store.holdAnswer('putJob')
    await later.punctual.start()
    await clock.advance('10s')
    letThrough()
    await clock.advance('1m')
    expect(await text(earlier.punctual)).toEqual([2, '0 9 * * *'])
  })

  it('F33 many nodes that start again and again with the same schedules make one record per instant', async () => {
    const { node, clock } = scene('2026-01-01T00:59:00Z')
    const jobs = () => Array.from({ length: 5 }, (_, n) => defineJob(`job-${n}`, { schedule: at('*') }).task('only', () => 1))
    for (let round = 0; round < 3; round++) {
      const nodes = await Promise.all(Array.from({ length: 4 }, () => node({ jobs: jobs() })))
      await clock.advance('25s')
      await Promise.all(nodes.map(({ punctual }) => punctual.stop()))
    }
    const { punctual } = await node({ jobs: jobs() })
    await clock.advance('30s')
    for (const { name } of jobs()) {
      expect((await punctual.list({ job: name })).items.map(({ state }) => state)).toEqual(['completed'])
      expect(await punctual.versions(name)).toHaveLength(1)
    }
  })

  it('F63 schedules live in the store: any node plans them, only capable nodes run them', async () => {
    const { node, clock } = scene('2026-01-01T00:59:00Z')
    const a = await node({ jobs: [defineJob('a', { schedule: at('*') }).task('only', () => 1)] })
    await clock.advance('1s')
    const b = await node({ jobs: [defineJob('b', { schedule: at('*') }).task('only', () => 1)] })
    await a.punctual.stop()
    await clock.advance('2m')
    expect((await b.punctual.list({ job: 'a' })).items).toMatchObject([{ state: 'pending' }])
    expect((await b.punctual.list({ job: 'b' })).items).toMatchObject([{ state: 'completed' }])
    await node({ jobs: [defineJob('a', { schedule: at('*') }).task('only', () => 1)] })
    await clock.advance('5s')
    expect((await b.punctual.list({ job: 'a' })).items).toMatchObject([{ state: 'completed' }])
  })
})
