import { createPunctual, defineJob, interval, once, type Punctual } from 'punctual'
import { memory } from 'punctual/memory'
import { describe, expect, test } from 'vitest'
import { type OperationName, operation, operationNames } from '../../src/client/operation.ts'
import { asker, silent } from './asker.ts'

const report = defineJob('report', { schedule: interval('PT1H') }, () => 'done')
const broken = defineJob('broken', { retry: { max: 0 } }, () => {
  throw new Error('it fell')
})
const once24 = { kind: 'interval', text: 'PT24H' }
const past = { from: '2026-01-01T00:00:00Z', to: '2026-01-01T03:00:00Z' }

/** A scheduler with something for every operation to act on. */
async function world() {
  const punctual = createPunctual({ store: memory(), jobs: [report, broken], log: silent })
  const dead = await punctual.enqueue(broken)
  const ended = await punctual.enqueue(report)
  const effect = async () => {
    throw Object.assign(new Error('cut'), { outcome: 'unknown' })
  }
  await punctual.once('charge', 'order-1', effect).catch(() => {})
  await punctual.runDue()
  const pending = await punctual.enqueue(report, undefined, { delay: '1h', key: 'k' })
  const ask = asker(() => punctual)
  const authenticate = () => ({ name: 'ada', role: 'admin' as const })
  const send = (method: string, path: string, body?: unknown) =>
    ask(`/api/v1${path}`, { method, authenticate, ...(body !== undefined && { body }) })
  const rows = async () => (await punctual.audit({ limit: 500 })).items
  return { punctual, send, rows, dead: dead.id, ended: ended.id, pending: pending.id }
}

type World = Awaited<ReturnType<typeof world>>
type Call = readonly [path: string, body?: unknown]

/** A call of each operation that changes something; `null`: it needs another way in, and is tested elsewhere. */
const calls: Readonly<Record<OperationName, (world: World) => Call | Promise<Call> | null>> = {
  'session.get': () => ['/session'],
  'session.open': () => null,
  'session.close': () => ['/session'],
  'server.get': () => ['/server'],
  'overview.get': () => ['/overview'],
  'timeline.get': () => [`/timeline?${new URLSearchParams(past)}`],
  'figures.get': () => [`/figures?${new URLSearchParams(past)}`],
  'calendar.get': () => [`/calendar?${new URLSearchParams(past)}`],
  'calendar.cell': () => [`/calendar/cell?${new URLSearchParams(past)}`],
  'jobs.list': () => ['/jobs'],
  'jobs.get': () => ['/jobs/report'],
  'jobs.status': () => ['/jobs/report/status'],
  'jobs.create': () => ['/jobs', { definition: 'report', name: 'report/acme', schedule: once24 }],
  'jobs.update': () => ['/jobs/report', { enabled: false }],
  'jobs.versions': () => ['/jobs/report/versions'],
  'jobs.diff': () => ['/jobs/report/diff?from=1&to=1'],
  'jobs.rollback': async ({ punctual }) => {
    await punctual.update(report, { schedule: once('2099-01-01T00:00:00Z') })
    return ['/jobs/report/rollback', { version: 1 }]
  },
  'jobs.reset': async ({ punctual }) => {
    await punctual.update(report, { enabled: false })
    return ['/jobs/report/reset', {}]
  },
  'jobs.retire': () => ['/jobs/report/retire', {}],
  'jobs.pause': () => ['/jobs/report/pause', {}],
  'jobs.resume': async ({ punctual }) => {
    await punctual.pause(report)
    return ['/jobs/report/resume', {}]
  },
  'jobs.trigger': () => ['/jobs/report/trigger', {}],
  'jobs.enqueue': () => ['/jobs/report/occurrences', {}],
  'jobs.cancel': () => ['/jobs/report/cancel', { key: 'k' }],
  'schedules.preview': () => ['/schedules/preview', { schedule: once24 }],
  'occurrences.list': () => ['/occurrences'],
  'occurrences.counts': () => ['/occurrences/counts'],
  'occurrences.export': () => ['/occurrences/export'],
  'occurrences.get': ({ ended }) => [`/occurrences/${ended}`],
  'occurrences.find': () => ['/occurrence?job=report&key=k'],
  'occurrences.cancel': ({ pending }) => [`/occurrences/${pending}/cancel`, {}],
  'occurrences.reschedule': ({ pending }) => [`/occurrences/${pending}/reschedule`, { delay: '2h' }],
  'occurrences.retry': ({ dead }) => [`/occurrences/${dead}/retry`, {}],
  'occurrences.discard': ({ dead }) => [`/occurrences/${dead}/discard`, {}],
  'occurrences.delete': ({ ended }) => [`/occurrences/${ended}/delete`, {}],
  'occurrences.prune': () => ['/occurrences/prune', { olderThan: '0s' }],
  'occurrences.replay': ({ ended }) => [`/occurrences/${ended}/replay`, { reason: 'again' }],
  'explain.get': () => ['/explain?job=report'],
  'dead.list': () => ['/dead-letters'],
  'operations.list': () => ['/operations'],
  'operations.get': async ({ punctual }) => [`/operations/${(await punctual.retryAll({ job: broken })).id}`],
  'operations.preview': () => ['/operations/preview', { kind: 'retry', filter: { job: 'broken' }, reason: 'again' }],
  'operations.start': () => ['/operations', { kind: 'retry', filter: { job: 'broken' }, reason: 'again' }],
  'operations.abort': async ({ punctual }) => [`/operations/${(await punctual.retryAll({ job: broken })).id}/abort`, {}],
  'pauses.list': () => ['/pauses'],
  'pauses.open': () => ['/pauses', { tenant: 'default' }],
  'pauses.close': async ({ punctual }) => {
    await punctual.pause({ tenant: 'default' })
    return ['/pauses/close', { tenant: 'default' }]
  },
  'gates.list': () => ['/gates'],
  'gates.resolve': () => ['/gates/resolve', { scope: 'charge', key: 'order-1', happened: true }],
  'audit.list': () => ['/audit'],
  'ranges.list': () => ['/ranges'],
  'tenants.list': () => ['/tenants'],
  'nodes.list': () => ['/nodes'],
  'nodes.drain': async ({ punctual }) => {
    await punctual.start()
    return [`/nodes/${encodeURIComponent((await punctual.nodes())[0]?.boot as string)}/drain`, {}]
  },
  'timers.get': () => ['/timers'],
  'tokens.list': () => ['/tokens'],
  'tokens.create': () => ['/tokens', { name: 'ci', role: 'viewer' }],
  'tokens.revoke': async ({ send }) => {
    const { body } = await send('POST', '/tokens', { name: 'ci', role: 'viewer' })
    return [`/tokens/${body.id}`]
  },
}

describe('BL-7 the table of operations', () => {
  test.each(operationNames)('S36: %s writes as many rows of the audit as it declares', async (name) => {
    const it = await world()
    try {
      const call = await calls[name](it)
      const { audited, method } = operation(name)
      if (call === null) return void expect(audited).toBe(false)
      const before = new Set((await it.rows()).map(({ seq }) => seq))
      const [path, body] = call
      const { status, text } = await it.send(method, path, body)
      expect(status, text).toBeLessThan(300)
      const written = (await it.rows()).filter(({ seq }) => !before.has(seq))
      expect(written.map(({ actor }) => actor)).toEqual(audited ? ['ada'] : [])
    } finally {
      await (it.punctual as Punctual).close()
    }
  })
})
