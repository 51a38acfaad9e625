import { createPunctual, interval, type Punctual, PunctualError } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { probe } from 'punctual/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { asker, broken, echo, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

describe('health', () => {
  test('/healthz answers 200 while the process lives, started or not', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'stopped' } })
    await punctual.start()
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'ok' } })
  })

  test('/readyz answers 503 until the node does its work', async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 503, body: { state: 'stopped', reasons: [] } })
    await punctual.start()
    expect(await ask('/readyz')).toMatchObject({ status: 200, body: { state: 'ok', reasons: [] } })
  })

  test('TM-9: /readyz tells why a node whose store is away is not ready, and /healthz stays 200', async () => {
    const away = memory()
    away.open = () => Promise.reject(new PunctualError('store.unreachable', 'nobody answers at db.example'))
    await using node = createPunctual({ store: away, log: silent })
    await node.start()
    const handler = createHandler(node, { log: silent })
    const ready = await handler(new Request('http://localhost/readyz'))
    expect(ready.status).toBe(503)
    expect(await ready.json()).toEqual({ state: 'degraded', reasons: ['opener: nobody answers at db.example'] })
    expect((await handler(new Request('http://localhost/healthz'))).status).toBe(200)
    const explained = await handler(new Request('http://localhost/api/v1/explain?job=echo'))
    expect(explained.status).toBe(503)
    expect(await explained.text()).not.toContain('db.example')
  })
})

describe('jobs', () => {
  test('lists the jobs by name, those that never ran included', async () => {
    await punctual.runDue()
    const { status, body } = await ask('/api/v1/jobs')
    expect(status).toBe(200)
    expect(body.items.map((job: { name: string }) => job.name)).toEqual(['broken', 'echo', 'later'])
    expect(body.items[2]).toMatchObject({
      tenant: 'default',
      version: 1,
      schedule: { kind: 'interval' },
      tasks: [{ name: 'run' }],
    })
    expect(body.cursor).toBeNull()
  })

  test('TS-10 pages by name and tenant, and leaves none out', async () => {
    await punctual.runDue()
    await punctual.schedule(echo, interval('PT1H'), { tenant: 'acme', payload: { text: 'a' } })
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { body } = await ask(`/api/v1/jobs?limit=1${after}`)
      seen.push(...body.items.map((job: { name: string; tenant: string }) => `${job.tenant}/${job.name}`))
      if (body.cursor === null) break
      after = `&cursor=${body.cursor}`
    }
    expect(seen).toEqual(['default/broken', 'acme/echo', 'default/echo', 'default/later'])
  })
})

describe('policies', () => {
  test('TM-14 jobs tell whether they are paused, enabled, overridden and orphaned, and so does the page', async () => {
    await punctual.runDue()
    await punctual.pause('later', { reason: 'the store moves', by: 'ada' })
    await punctual.update('later', { enabled: false })
    const { body } = await ask('/api/v1/jobs')
    expect(body.items[2]).toMatchObject({
      paused: true,
      enabled: false,
      overridden: ['enabled'],
      orphaned: false,
      retired: false,
    })
    const page = (await ask('/')).text
    expect(page).toContain('<span class="badge disabled">disabled</span>')
    expect(page).toContain('<span class="badge paused">paused</span>')
  })

  test('JB-20 the versions of a job, also of one with a slash in its name', async () => {
    await punctual.schedule(echo, interval('PT1H'), { name: 'echo/north', payload: { text: 'a' } })
    await punctual.update('echo/north', { schedule: interval('PT2H') }, { by: 'ada' })
    const { body } = await ask('/api/v1/jobs/echo%2Fnorth/versions')
    expect(body.items).toMatchObject([
      { version: 1, by: null, scheduleText: 'Every hour (UTC)' },
      { version: 2, by: 'ada', scheduleText: 'Every 2 hours (UTC)' },
    ])
    expect(await ask('/api/v1/jobs/nothing/versions')).toMatchObject({ status: 404, body: { error: { code: 'job.unknown' } } })
  })

  test('explain answers for a job, an id and a key, without stacks', async () => {
    const { id } = await punctual.enqueue(broken, undefined, { key: 'k' })
    await punctual.runDue()
    const job = await ask('/api/v1/explain?job=later')
    expect(job.body).toMatchObject({ subject: 'job', reasons: [{ code: 'no-node' }, { code: 'next-run' }] })
    const byId = await ask(`/api/v1/explain?id=${id}`)
    expect(byId.body).toMatchObject({ subject: 'occurrence', id, reasons: [{ code: 'ended', details: { state: 'dead' } }] })
    expect(byId.text).not.toContain('stack')
    expect((await ask('/api/v1/explain?job=broken&key=k')).body).toEqual(byId.body)
    expect(await ask('/api/v1/explain?job=nothing')).toMatchObject({ status: 404 })
    expect(await ask('/api/v1/explain?id=x&job=later')).toMatchObject({ status: 400 })
    expect(await ask('/api/v1/explain')).toMatchObject({ status: 400, body: { error: { code: 'option.invalid' } } })
  })
})

describe('occurrences', () => {
  test('lists, filters by every parameter, and pages', async () => {
    for (const text of ['a', 'b', 'c'])
      await punctual.enqueue(echo, { text }, { key: text, entity: `entity-${text}`, tenant: 'acme' })
    await punctual.enqueue(echo, { text: 'd' }, { delay: '1h' })
    await punctual.runDue()
    const keys = async (query: string) =>
      (await ask(`/api/v1/occurrences?${query}`)).body.items.map((item: { key: string | null }) => item.key)
    expect(await keys('job=echo&state=completed')).toEqual(['c', 'b', 'a'])
    expect(await keys('tenant=acme')).toEqual(['c', 'b', 'a'])
    expect(await keys('tenant=nobody')).toEqual([])
    expect(await keys('job=echo&state=pending,running')).toEqual([null])
    expect(await keys('key=b')).toEqual(['b'])
    expect(await keys('entity=entity-c')).toEqual(['c'])
    expect(await keys('job=echo&from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z')).toEqual([])
    const first = await ask('/api/v1/occurrences?job=echo&limit=3')
    expect(first.body.items).toHaveLength(3)
    const second = await ask(`/api/v1/occurrences?job=echo&limit=3&cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ items: [{ key: 'a' }], cursor: null })
  })

  test('tells all about one, without the stacks of its errors', async () => {
    const { id } = await punctual.enqueue(broken, undefined, { key: 'k' })
    await punctual.runDue()
    const { status, body, text } = await ask(`/api/v1/occurrences/${id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ id, job: 'broken', key: 'k', state: 'dead', source: 'deferred', error: { message: 'it fell' } })
    expect(body.tasks).toMatchObject([
      { name: 'fall', state: 'failed', attempts: [{ n: 1, state: 'failed', error: { message: 'it fell' } }] },
    ])
    expect(text + (await ask('/api/v1/occurrences')).text).not.toContain('stack')
  })

  test('an unknown id is 404, typed', async () => {
    const { status, body } = await ask('/api/v1/occurrences/nothing')
    expect(status).toBe(404)
    expect(body).toEqual({
      error: { code: 'occurrence.unknown', message: 'There is no occurrence "nothing"', details: { id: 'nothing' } },
    })
  })

  test('counts by state, of all or of one job', async () => {
    await punctual.enqueue(echo, { text: 'a' })
    await punctual.enqueue(broken, undefined)
    await punctual.runDue()
    expect((await ask('/api/v1/counts')).body.states).toMatchObject({ completed: 1, dead: 1, pending: 0 })
    expect((await ask('/api/v1/counts?job=echo')).body.states).toMatchObject({ completed: 1, dead: 0 })
  })

  test('the depth of the queue and the nodes are visible (JB-17)', async () => {
    const events = probe(punctual)
    await punctual.start()
    await punctual.enqueue(echo, { text: 'a' })
    await events.next('occurrence.completed')
    const { body } = await ask('/api/v1/nodes')
    expect(body.items).toMatchObject([{ concurrency: 10, kinds: ['echo', 'broken', 'later'] }])
    expect(new Date(body.items[0].beatAt).toISOString()).toBe(body.items[0].beatAt)
  })
})
