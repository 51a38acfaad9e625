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
const span = () => `from=${new Date(Date.now() - 3.6e6).toISOString()}&to=${new Date(Date.now() + 3.6e6).toISOString()}`

describe('health', () => {
  test('/healthz answers 200 while the process lives, started or not', async () => {
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'stopped' } })
    await punctual.start()
    expect(await ask('/healthz')).toMatchObject({ status: 200, body: { state: 'ok' } })
  })

  test('/readyz answers 503 until the node does its work, and returns only its state', async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 503, body: { state: 'stopped' } })
    await punctual.start()
    expect((await ask('/readyz')).body).toEqual({ state: 'ok' })
  })

  test('TM-9: a node whose store is away is not ready, and lives', async () => {
    const away = memory()
    away.open = () => Promise.reject(new PunctualError('store.unreachable', 'nobody answers at db.example'))
    await using node = createPunctual({ store: away, log: silent })
    await node.start()
    const handler = createHandler(node, { open: true, log: silent })
    const ready = await handler(new Request('http://localhost/readyz'))
    expect(ready.status).toBe(503)
    expect(await ready.json()).toEqual({ state: 'degraded' })
    expect((await handler(new Request('http://localhost/healthz'))).status).toBe(200)
    const server = await handler(new Request('http://localhost/api/v1/server'))
    expect(server.status).toBe(503)
    expect(await server.text()).not.toContain('db.example')
  })
})

describe('jobs', () => {
  test('TM-14: lists the jobs by name with what became of their runs, those that never ran included', async () => {
    await punctual.enqueue(broken, undefined)
    await punctual.runDue()
    const { status, body } = await ask('/api/v1/jobs')
    expect(status).toBe(200)
    expect(body.items.map((job: { name: string }) => job.name)).toEqual(['broken', 'echo', 'later'])
    expect(body.items[0]).toMatchObject({
      marks: ['failing'],
      dead: 1,
      failuresInRow: 1,
      recent: [{ state: 'dead', error: 'it fell' }],
    })
    expect(body.items[2]).toMatchObject({ schedule: { kind: 'interval', words: 'Every hour (UTC)' }, tasks: ['run'], recent: [] })
    expect(body.marks).toMatchObject({ all: 3 })
    expect(body.cursor).toBeNull()
  })

  test('pages, searches and filters by mark', async () => {
    await punctual.runDue()
    await punctual.schedule(echo, interval('PT1H'), { tenant: 'acme', payload: { text: 'a' } })
    await punctual.pause('later')
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { body } = await ask(`/api/v1/jobs?limit=1${after}`)
      seen.push(...body.items.map((job: { name: string; tenant: string }) => `${job.tenant}/${job.name}`))
      if (body.cursor === null) break
      after = `&cursor=${body.cursor}`
    }
    expect(seen).toEqual(['default/broken', 'acme/echo', 'default/echo', 'default/later'])
    const names = async (query: string) =>
      (await ask(`/api/v1/jobs?${query}`)).body.items.map((job: { name: string }) => job.name)
    expect(await names('search=LAT')).toEqual(['later'])
    expect(await names('mark=paused')).toEqual(['later'])
    expect(await names('tenant=acme')).toEqual(['echo'])
  })

  test('JB-20: a change with If-Match makes a version by the name of its author; an old version is refused', async () => {
    await punctual.runDue()
    const job = await ask('/api/v1/jobs/later')
    expect(job.response.headers.get('etag')).toBe('"1"')
    const change = (version: string, max = 7) =>
      ask('/api/v1/jobs/later', {
        method: 'PATCH',
        headers: { 'if-match': version },
        body: { schedule: { text: '0 3 * * *', timezone: 'Europe/Warsaw' }, retry: { max } },
      })
    expect(await change('"1"')).toMatchObject({ status: 200, body: { version: 2 } })
    expect(await change('"1"', 8)).toMatchObject({ status: 412, body: { code: 'job.outdated' } })
    expect(await change('latest')).toMatchObject({ status: 400 })
    const { body } = await ask('/api/v1/jobs/later/versions')
    expect(body.items[1]).toMatchObject({ version: 2, by: 'local' })
    expect(body.items[1].changes.map(({ field }: { field: string }) => field)).toContain('settings.retry')
    expect((await ask('/api/v1/jobs/later')).body).toMatchObject({
      overridden: ['schedule', 'settings'],
      schedule: { timezone: 'Europe/Warsaw' },
      declared: { schedule: { kind: 'interval' } },
    })
    expect((await ask('/api/v1/jobs/later/diff?from=1&to=2')).body.items.length).toBeGreaterThan(0)
    expect(await ask('/api/v1/jobs/later/rollback', { body: { version: 1 } })).toMatchObject({ body: { version: 3 } })
    expect((await ask('/api/v1/jobs/later/reset', { body: {} })).status).toBe(200)
    expect((await ask('/api/v1/jobs/nothing/versions')).body.code).toBe('job.unknown')
  })

  test('a job is created for a tenant, paused, resumed and retired; names may hold a slash', async () => {
    const made = await ask('/api/v1/jobs', {
      body: { definition: 'echo', name: 'echo/north', tenant: 'acme', schedule: { text: 'PT2H' }, payload: { text: 'a' } },
    })
    expect(made).toMatchObject({ status: 201, body: { outcome: 'created', version: 1 } })
    expect(made.response.headers.get('location')).toBe('/api/v1/jobs/echo%2Fnorth?tenant=acme')
    const path = '/api/v1/jobs/echo%2Fnorth'
    expect((await ask(`${path}/pause?tenant=acme`, { body: { reason: 'the store moves', for: '1h' } })).body.outcome).toBe(
      'paused',
    )
    expect((await ask(`${path}?tenant=acme`)).body).toMatchObject({
      paused: true,
      pauses: [{ by: 'local', reason: 'the store moves' }],
    })
    expect((await ask(`${path}/resume?tenant=acme`, { method: 'POST' })).body.outcome).toBe('resumed')
    expect((await ask(`${path}/status?tenant=acme`)).body).toMatchObject({ active: true, paused: false, lastResult: null })
    expect((await ask(`${path}/retire?tenant=acme`, { method: 'POST' })).status).toBe(200)
    expect((await ask('/api/v1/jobs', { body: { definition: 'nope', schedule: { text: 'PT1H' } } })).body.code).toBe(
      'definition.unknown',
    )
  })

  test('a preview shows the coming instants, the next clock change and warnings', async () => {
    const { body } = await ask('/api/v1/schedules/preview', {
      body: { schedule: { text: '30 2 * * *', timezone: 'Europe/Warsaw' }, count: 3, after: '2026-10-22T12:00:00Z' },
    })
    expect(body.next.map(({ local }: { local: string }) => local)).toEqual([
      '2026-10-23T02:30:00',
      '2026-10-24T02:30:00',
      '2026-10-25T02:30:00',
    ])
    expect(body.clockChange).toMatchObject({ at: '2026-10-25T01:00:00.000Z', from: '+02:00', to: '+01:00' })
    expect(body.warnings.map(({ code }: { code: string }) => code)).toContain('made-up')
  })
})

describe('work', () => {
  test('JS-10: a submission is 202 with the place to poll; the same key finds the same work', async () => {
    const submit = () => ask('/api/v1/jobs/echo/occurrences', { body: { payload: { text: 'hi' }, idempotencyKey: 'k1' } })
    const first = await submit()
    expect(first).toMatchObject({ status: 202, body: { outcome: 'created', state: 'pending' } })
    const place = first.response.headers.get('location') as string
    expect((await submit()).body).toMatchObject({ id: first.body.id, outcome: 'existing' })
    await punctual.runDue()
    expect((await ask(place)).body).toMatchObject({
      state: 'completed',
      result: 'hi',
      tasks: [{ name: 'say', state: 'succeeded' }],
    })
    expect((await ask('/api/v1/occurrence?job=echo&idempotencyKey=k1')).body.id).toBe(first.body.id)
    expect((await ask('/api/v1/jobs/nothing/occurrences', { body: {} })).body.code).toBe('job.unknown')
  })

  test('lists, filters by every parameter, and pages', async () => {
    for (const text of ['a', 'b', 'c'])
      await punctual.enqueue(echo, { text }, { key: text, entity: `entity-${text}`, tenant: 'acme' })
    await punctual.enqueue(echo, { text: 'd' }, { delay: '1h' })
    await punctual.trigger('echo', { payload: { text: 'e' } })
    await punctual.runDue()
    const keys = async (query: string) =>
      (await ask(`/api/v1/occurrences?${query}`)).body.items.map((item: { key: string | null }) => item.key)
    expect(await keys('job=echo&state=completed&tenant=acme')).toEqual(['c', 'b', 'a'])
    expect(await keys('tenant=nobody')).toEqual([])
    expect(await keys('job=echo&state=pending,running')).toEqual([null])
    expect(await keys('key=b')).toEqual(['b'])
    expect(await keys('entity=entity-c')).toEqual(['c'])
    expect(await keys('source=manual')).toEqual([null])
    expect(await keys('job=echo&from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z')).toEqual([])
    const first = await ask('/api/v1/occurrences?job=echo&limit=4')
    const second = await ask(`/api/v1/occurrences?job=echo&limit=4&cursor=${first.body.cursor}`)
    expect(second.body).toMatchObject({ items: [{ key: 'a' }], cursor: null })
    expect((await ask('/api/v1/occurrences/counts')).body.states).toMatchObject({ completed: { count: 4, capped: false } })
    expect((await ask('/api/v1/occurrences/counts?entity=entity-a')).body.total).toEqual({ count: 1, capped: false })
  })

  test('dead letters are grouped by cause, retried, discarded and replayed', async () => {
    const ids = []
    for (let n = 0; n < 3; n++) ids.push((await punctual.enqueue(broken, undefined, { entity: `order-${n}` })).id)
    await punctual.runDue()
    const { body } = await ask('/api/v1/dead-letters')
    expect(body).toMatchObject({
      total: 3,
      items: [{ count: 3, label: 'it fell', job: 'broken', tenants: [{ tenant: 'default', count: 3 }] }],
    })
    const [{ cause }] = body.items
    expect((await ask(`/api/v1/occurrences?cause=${cause}`)).body.items).toHaveLength(3)
    const [first, second, third] = ids
    expect((await ask(`/api/v1/occurrences/${first}/retry`, { body: {} })).body).toEqual({ outcome: 'retrying' })
    expect((await ask(`/api/v1/occurrences/${second}/discard`, { body: { reason: 'not needed' } })).body).toEqual({
      outcome: 'discarded',
    })
    expect((await ask(`/api/v1/occurrences/${second}/discard`, { body: {} })).body.code).toBe('occurrence.conflict')
    expect((await ask(`/api/v1/occurrences/${third}/replay`, { body: { reason: 'again' } })).status).toBe(202)
    const shown = (await ask(`/api/v1/occurrences/${third}`)).body
    expect(shown).toMatchObject({ state: 'dead', cause, error: { message: 'it fell' }, why: [{ code: 'ended' }] })
    expect((await ask('/api/v1/occurrences')).text).not.toContain('stack')
  })

  test('pending work is rescheduled and canceled', async () => {
    const { id } = await punctual.enqueue(echo, { text: 'a' }, { delay: '1h' })
    expect((await ask(`/api/v1/occurrences/${id}/reschedule`, { body: { runAt: '2030-01-01T00:00:00Z' } })).status).toBe(200)
    expect((await ask(`/api/v1/occurrences/${id}`)).body.dueAt).toBe('2030-01-01T00:00:00.000Z')
    expect((await ask(`/api/v1/occurrences/${id}/cancel`, { body: { reason: 'paid' } })).body).toEqual({ outcome: 'canceled' })
    expect((await ask('/api/v1/occurrences/nothing/cancel', { body: {} })).body.code).toBe('occurrence.unknown')
  })

  test('operations of several kinds are paged: each is on one page, the newest first', async () => {
    await punctual.enqueue(broken, undefined)
    await punctual.runDue()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) {
      ids.push((await punctual.retryAll({ job: broken })).id)
      ids.push((await punctual.discardAll({ job: broken }, { reason: 'no longer wanted' })).id)
    }
    const found: string[] = []
    let cursor = ''
    do {
      const { body } = await ask(`/api/v1/operations?limit=4${cursor}`)
      found.push(...body.items.map(({ id }: { id: string }) => id))
      cursor = body.cursor === null ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(found.toSorted()).toEqual(ids.toSorted())
    expect(await ask('/api/v1/operations?cursor=W10')).toMatchObject({ status: 400, body: { code: 'request.invalid' } })
  })

  test('an unknown operation and unknown work to explain are told apart', async () => {
    const id = '01a1f1e4-158d-701d-8caa-7af9f49e754e'
    expect(await ask(`/api/v1/operations/${id}`)).toMatchObject({ status: 404, body: { code: 'operation.unknown' } })
    expect(await ask(`/api/v1/explain?id=${id}`)).toMatchObject({ status: 404, body: { code: 'occurrence.unknown' } })
  })

  test('a backfill is previewed, started, watched and aborted', async () => {
    await punctual.runDue()
    const body = {
      kind: 'backfill',
      job: 'later',
      from: new Date(Date.now() - 5 * 3.6e6).toISOString(),
      to: new Date().toISOString(),
    }
    const preview = await ask('/api/v1/operations/preview', { body })
    expect(preview.body).toMatchObject({ kind: 'backfill', acts: preview.body.matches })
    const started = await ask('/api/v1/operations', { body })
    expect(started.status).toBe(202)
    expect((await ask(`/api/v1/operations/${started.body.id}`)).body).toMatchObject({
      kind: 'backfill',
      job: 'later',
      state: 'pending',
    })
    expect((await ask(`/api/v1/operations/${started.body.id}/abort`, { method: 'POST' })).body).toEqual({ outcome: 'canceled' })
    expect((await ask('/api/v1/operations')).body.items).toMatchObject([{ id: started.body.id, state: 'canceled' }])
  })

  test('S32: an export is NDJSON or CSV, and no cell is a formula', async () => {
    await punctual.enqueue(echo, { text: 'a' }, { key: '=1+1', entity: '"quoted", and more' })
    const lines = (await ask('/api/v1/occurrences/export')).text.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).key)).toEqual(['=1+1'])
    const csv = await ask('/api/v1/occurrences/export?format=csv')
    expect(csv.response.headers.get('content-type')).toContain('text/csv')
    expect(csv.text).toContain(`'=1+1`)
    expect(csv.text).toContain('"""quoted"", and more"')
  })
})

describe('the pages', () => {
  test('the overview, the timeline, the calendar and figures show what ran and what comes', async () => {
    const events = probe(punctual)
    await punctual.start()
    await punctual.enqueue(echo, { text: 'a' })
    await events.next('occurrence.completed')
    await punctual.enqueue(broken, undefined)
    await events.next('occurrence.failed')
    await punctual.pause(undefined, { reason: 'all' })
    await punctual.stop()
    const { body } = await ask('/api/v1/overview')
    expect(body).toMatchObject({
      counts: { completed: 1, dead: 1 },
      failed: { dead: 1, causes: 1, lastHour: 1 },
      jobs: { total: 3, failing: 1 },
      attention: [{ kind: 'dead', job: 'broken', count: 1 }],
      // Everything is paused without an end: no instant will run.
      next: [],
    })
    const figures = (await ask(`/api/v1/figures?${span()}`)).body
    const sum = (name: string) =>
      figures.points.reduce((total: number, point: Record<string, number>) => total + (point[name] ?? 0), 0)
    expect([sum('completed'), sum('failed')]).toEqual([1, 1])
    const timeline = (await ask(`/api/v1/timeline?${span()}`)).body
    expect(timeline.lanes.map(({ job }: { job: string }) => job)).toEqual(['broken', 'later', 'echo'])
    const calendar = (await ask(`/api/v1/calendar?${span()}&timezone=Asia/Kolkata`)).body
    expect(calendar.cells.reduce((total: number, cell: { completed: number }) => total + cell.completed, 0)).toBe(1)
    expect((await ask(`/api/v1/calendar/cell?${span()}`)).body.jobs.map(({ job }: { job: string }) => job)).toEqual(
      expect.arrayContaining(['echo', 'broken']),
    )
  })

  test('JB-17: the nodes, the tenants, the pauses and the server are visible', async () => {
    await punctual.start()
    await punctual.enqueue(echo, { text: 'a' }, { tenant: 'acme' })
    const { body } = await ask('/api/v1/nodes')
    expect(body.items).toMatchObject([{ concurrency: 10, beating: true, definitions: ['echo', 'broken', 'later'] }])
    expect((await ask('/api/v1/pauses', { body: { tenant: 'acme', reason: 'moved' } })).body).toEqual({ outcome: 'paused' })
    expect((await ask('/api/v1/pauses')).body.items).toMatchObject([{ tenant: 'acme', by: 'local', reason: 'moved' }])
    expect((await ask('/api/v1/pauses/close', { body: { tenant: 'acme' } })).body).toEqual({ outcome: 'resumed' })
    expect((await ask('/api/v1/server', { label: 'production eu-1' })).body).toMatchObject({
      label: 'production eu-1',
      store: { name: 'memory' },
      nodes: 1,
      jobs: 3,
    })
    expect((await ask('/api/v1/tenants')).body.items.map(({ name }: { name: string }) => name)).toEqual(['acme', 'default'])
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
    expect(await ask('/api/v1/explain')).toMatchObject({ status: 400 })
  })
})

describe('nodes', () => {
  test('an operator drains a node by name: it shows on the wire and in the audit, and who is bound to a tenant cannot', async () => {
    await punctual.start()
    const { body } = await ask('/api/v1/nodes')
    const [{ name, boot }] = body.items
    expect(body.items).toMatchObject([{ draining: false }])
    const path = `/api/v1/nodes/${encodeURIComponent(name)}/drain`
    const bound = { authenticate: () => ({ name: 'a', role: 'admin' as const, tenants: ['acme'] }) }
    expect(await ask(path, { ...bound, body: {} })).toMatchObject({ status: 403, body: { code: 'access.refused' } })
    expect(await ask('/api/v1/nodes/nobody/drain', { body: {} })).toMatchObject({ status: 404, body: { code: 'node.unknown' } })
    expect(await ask(path, { body: { reason: 'it moves' } })).toMatchObject({ status: 200, body: { outcome: 'draining' } })
    expect((await ask('/api/v1/nodes')).body.items).toMatchObject([{ boot, draining: true }])
    expect((await ask('/api/v1/audit?action=drain')).body.items).toMatchObject([
      { actor: 'local', target: name, reason: 'it moves', after: { draining: [boot] } },
    ])
  })
})
