import { DatabaseSync } from 'node:sqlite'
import { defineJob, interval } from 'punctual'
import { manualClock } from 'punctual/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import type { AnyDefinition } from '../../src/model/definition.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { databasePath } from '../support/database-path.ts'
import { onEachStore } from '../support/each-store.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function node(store: Store, jobs: readonly AnyDefinition[], over = {}) {
  const clock = manualClock()
  const punctual = createPunctual({ store, jobs, clock, log: silent, retry: { max: 0 }, ...over })
  onTestFinished(() => punctual.close())
  return { punctual, clock }
}

const broken = defineJob('broken', {}, () => {
  throw new Error('it fell')
})
const report = defineJob('report', { schedule: interval('PT1H') }, () => 'sent')

const unknownOutcome = () => {
  throw Object.assign(new Error('no answer'), { outcome: 'unknown' })
}

onEachStore('BL-7 the audit', (newDatabase) => {
  it('records every act on jobs and occurrences with its actor and reason', async () => {
    const { punctual, clock } = node(newDatabase()(), [broken, report])
    await punctual.start()
    await punctual.idle()
    const act = (n: number) => ({ by: 'ada', reason: `reason ${n}` })
    await punctual.update(report, { enabled: false }, act(1))
    await punctual.reset(report, act(2))
    await punctual.rollback(report, 1, act(3))
    await punctual.pause(report, act(4))
    await punctual.resume(report, act(5))
    const triggered = await punctual.trigger(report, act(6))
    await punctual.idle()
    const replayed = await punctual.replay(triggered.id, act(7))
    const pending = await punctual.enqueue(report, undefined, { delay: '1h' })
    await punctual.reschedule(pending.id, { delay: '2h', ...act(8) })
    await punctual.cancel(pending.id, act(9))
    const dead = await punctual.enqueue(broken)
    await punctual.idle()
    await punctual.retry(dead.id, act(10))
    await punctual.idle()
    await punctual.discard(dead.id, act(11))
    const filled = await punctual.backfill(report, { from: '2025-12-31T00:00:00Z', to: '2025-12-31T02:00:00Z', ...act(12) })
    await punctual.retire(report, act(13))
    await punctual.once('charge', 'order-1', unknownOutcome).catch(() => {})
    await punctual.resolveGate({ scope: 'charge', key: 'order-1' }, { happened: true, ...act(14) })
    await punctual.delete(dead.id, act(15))
    await clock.advance(1)
    await punctual.prune({ olderThan: 0, ...act(16) })
    const { items } = await punctual.audit({ order: 'oldest', actor: 'ada' })
    expect(items.map(({ action, target, reason }) => [action, target, reason])).toEqual([
      ['update', 'report', 'reason 1'],
      ['reset', 'report', 'reason 2'],
      // A rollback to what holds already changes nothing but where it comes from.
      ['rollback', 'report', 'reason 3'],
      ['pause', 'report', 'reason 4'],
      ['resume', 'report', 'reason 5'],
      ['trigger', triggered.id, 'reason 6'],
      ['replay', replayed.id, 'reason 7'],
      ['reschedule', pending.id, 'reason 8'],
      ['cancel', pending.id, 'reason 9'],
      ['retry', dead.id, 'reason 10'],
      ['discard', dead.id, 'reason 11'],
      ['backfill', filled.id, 'reason 12'],
      ['retire', 'report', 'reason 13'],
      ['resolve', 'charge/order-1', 'reason 14'],
      ['delete', dead.id, 'reason 15'],
      ['prune', '', 'reason 16'],
    ])
    expect(items[0]).toMatchObject({
      before: { version: 1, enabled: true },
      after: { version: 2, enabled: false },
      job: 'report',
    })
    expect((await punctual.verifyAudit()).isWhole).toBe(true)
  })

  it('names the default actor of a library call, and writes nothing for a call that is refused', async () => {
    const { punctual } = node(newDatabase()(), [report])
    const { id } = await punctual.enqueue(report, undefined, { delay: '1h' })
    await punctual.cancel(id)
    await punctual.cancel(id)
    await expect(punctual.discard(id)).rejects.toMatchObject({ code: 'occurrence.conflict' })
    await expect(punctual.cancel(id, { by: ' ' })).rejects.toMatchObject({ code: 'option.invalid' })
    expect((await punctual.audit()).items).toMatchObject([{ actor: 'api', action: 'cancel', target: id }])
  })

  it('records business events once for each attempt whose end is recorded', async () => {
    const bill = defineJob('bill', { retry: { max: 2, interval: '1s' } }, (ctx) => {
      ctx.audit('invoice.created', { invoice: `i-${ctx.attempt}` }, { total: 5 })
      if (ctx.attempt < 2) throw new Error('the mail server is away')
      ctx.audit('invoice.sent', { invoice: `i-${ctx.attempt}` })
      return 'sent'
    })
    const { punctual, clock } = node(newDatabase()(), [bill])
    await punctual.start()
    const handle = await punctual.enqueue(bill)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect(await handle.result()).toBe('sent')
    const { items } = await punctual.audit({ order: 'oldest' })
    expect(items.map(({ actor, event, refs, data, target }) => [actor, event, refs, data, target === handle.id])).toEqual([
      ['SYSTEM', 'invoice.created', { invoice: 'i-1' }, { total: 5 }, true],
      ['SYSTEM', 'invoice.created', { invoice: 'i-2' }, { total: 5 }, true],
      ['SYSTEM', 'invoice.sent', { invoice: 'i-2' }, null, true],
    ])
    const found = await punctual.get(handle.id)
    expect(found?.tasks[0]?.attempts.map(({ state }) => state)).toEqual(['failed', 'succeeded'])
  })

  it('refuses a business event that is none', async () => {
    const errors: unknown[] = []
    const bill = defineJob('bill', {}, (ctx) => {
      for (const call of [() => ctx.audit(''), () => ctx.audit('x', { a: 1 } as never), () => ctx.audit('x', {}, 5n)])
        try {
          call()
        } catch (error) {
          errors.push((error as { code: string }).code)
        }
    })
    const { punctual } = node(newDatabase()(), [bill])
    await punctual.start()
    await (await punctual.enqueue(bill)).result()
    expect(errors).toEqual(['name.invalid', 'key.invalid', 'payload.invalid'])
    expect((await punctual.audit()).items).toEqual([])
  })

  it('pages through rows in either order', async () => {
    const { punctual } = node(newDatabase()(), [report])
    for (let i = 0; i < 5; i++) await punctual.trigger(report, { by: `person-${i}` })
    const actors: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof punctual.audit>> = await punctual.audit({
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      })
      actors.push(...page.items.map(({ actor }) => actor))
      cursor = page.cursor
    }
    expect(actors).toEqual(['person-4', 'person-3', 'person-2', 'person-1', 'person-0'])
    await expect(punctual.audit({ cursor: 'forged' })).rejects.toMatchObject({ code: 'option.invalid' })
    await expect(punctual.audit({ who: 'x' } as never)).rejects.toMatchObject({ code: 'option.unknown' })
  })
})

describe('BL-7 an act whose audit row cannot be written', () => {
  async function scene() {
    const path = databasePath()
    const { punctual, clock } = node(sqlite(path), [broken, report])
    await punctual.start()
    await punctual.idle()
    await punctual.update(report, { enabled: false })
    const [dead, pending] = [await punctual.enqueue(broken), await punctual.enqueue(broken, undefined, { delay: '1h' })]
    const ended = await punctual.trigger(report)
    await punctual.idle()
    await punctual.pause(broken)
    await punctual.once('charge', 'order-1', unknownOutcome).catch(() => {})
    await clock.advance(1)
    await punctual.stop()
    const db = new DatabaseSync(path)
    onTestFinished(() => db.close())
    db.exec("CREATE TRIGGER full BEFORE INSERT ON punctual_audit BEGIN SELECT raise(ABORT, 'no audit'); END")
    const all = () =>
      ['occurrence', 'turn', 'job', 'job_version', 'pause', 'gate', 'dead', 'ready', 'waiting', 'arrival', 'audit'].map((table) =>
        db.prepare(`SELECT * FROM punctual_${table}`).all(),
      )
    return { punctual, dead: dead.id, pending: pending.id, ended: ended.id, all }
  }

  it.each<[string, (it: Awaited<ReturnType<typeof scene>>) => Promise<unknown>]>([
    ['update', ({ punctual }) => punctual.update(report, { enabled: true })],
    ['reset', ({ punctual }) => punctual.reset(report)],
    ['rollback', ({ punctual }) => punctual.rollback(report, 1)],
    ['retire', ({ punctual }) => punctual.retire(report)],
    ['pause', ({ punctual }) => punctual.pause(report)],
    ['resume', ({ punctual }) => punctual.resume(broken)],
    ['trigger', ({ punctual }) => punctual.trigger(report)],
    ['replay', ({ punctual, ended }) => punctual.replay(ended, { reason: 'again' })],
    [
      'backfill',
      ({ punctual }) => punctual.backfill(report, { from: '2025-12-31T00:00:00Z', to: '2025-12-31T02:00:00Z', reason: 'again' }),
    ],
    ['cancel', ({ punctual, pending }) => punctual.cancel(pending)],
    ['reschedule', ({ punctual, pending }) => punctual.reschedule(pending, { delay: '2h' })],
    ['retry', ({ punctual, dead }) => punctual.retry(dead)],
    ['discard', ({ punctual, dead }) => punctual.discard(dead)],
    ['resolve', ({ punctual }) => punctual.resolveGate({ scope: 'charge', key: 'order-1' }, { happened: true })],
    ['delete', ({ punctual, dead }) => punctual.delete(dead)],
    ['prune', ({ punctual }) => punctual.prune({ olderThan: 0 })],
  ])('%s changes nothing', async (_, act) => {
    const it = await scene()
    const before = it.all()
    await expect(act(it)).rejects.toThrow(/no audit/)
    expect(it.all()).toEqual(before)
  })
})

describe('BL-7 a change of the audit', () => {
  it('is refused by the database itself', async () => {
    const path = databasePath()
    const { punctual } = node(sqlite(path), [report])
    await punctual.trigger(report)
    const db = new DatabaseSync(path)
    onTestFinished(() => db.close())
    expect(() => db.exec("UPDATE punctual_audit SET actor = 'eve'")).toThrow(/never changed/)
    expect(() => db.exec('DELETE FROM punctual_audit')).toThrow(/by retention/)
    const rows = () => db.prepare('SELECT seq, actor FROM punctual_audit ORDER BY seq').all()
    const before = rows()
    const columns = 'at, act, target, action'
    const replace = `INSERT OR REPLACE INTO punctual_audit (seq, actor, ${columns}) SELECT`
    db.exec(`${replace} seq, 'eve', ${columns} FROM punctual_audit`)
    expect(() => db.exec(`${replace} seq, 'eve', at, 'other', target, action FROM punctual_audit`)).toThrow(/never changed/)
    db.exec(`${replace} NULL, 'eve', ${columns} FROM punctual_audit`)
    expect(rows()).toEqual(before)
  })
})
