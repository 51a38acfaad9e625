import { defineJob } from 'punctual'
import { manualClock, probe } from 'punctual/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import type { AnyDefinition } from '../../src/model/definition.ts'
import type { Store } from '../../src/store/store.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { untilAborted } from '../support/until-aborted.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

function node(store: Store, jobs: readonly AnyDefinition[], over = {}) {
  const clock = manualClock()
  const punctual = createPunctual({ store, jobs, clock, log: silent, retry: { max: 3, interval: '1s', factor: 1 }, ...over })
  onTestFinished(() => punctual.close())
  return { punctual, clock }
}

onEachStore('BL-6 ctx.once', (newDatabase, storeName) => {
  it('performs an effect once over all attempts, and gives later ones its outcome', async () => {
    const results: unknown[] = []
    let charged = 0
    const pay = defineJob('pay', {}, async (ctx) => {
      results.push(await ctx.once('charge', () => ({ charge: ++charged })))
      if (ctx.attempt < 3) throw new Error('the mail server is away')
    })
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const { id } = await punctual.enqueue(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect((await punctual.get(id))?.state).toBe('completed')
    expect([charged, results]).toEqual([1, [{ charge: 1 }, { charge: 1 }, { charge: 1 }]])
    const { items } = await punctual.gates()
    expect(items).toMatchObject([
      { scope: id, key: 'charge', state: 'done', hits: 2, tries: 1, result: { charge: 1 }, occurrence: id },
    ])
  })

  it('frees the key when the effect throws, so the next attempt performs it again under the same idempotency key', async () => {
    const keys: string[] = []
    const pay = defineJob('pay', {}, (ctx) =>
      ctx.once('charge', ({ idempotencyKey }) => {
        keys.push(idempotencyKey)
        if (keys.length < 3) throw new Error('card declined')
        return 'paid'
      }),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const handle = await punctual.enqueue(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect(await handle.result()).toBe('paid')
    expect([keys.length, new Set(keys).size]).toEqual([3, 1])
    expect((await punctual.gates()).items).toMatchObject([{ state: 'done', tries: 1 }])
  })

  it('holds an unknown outcome for a person, and goes on with the resolution', async () => {
    let calls = 0
    const pay = defineJob('pay', {}, (ctx) =>
      ctx.once('charge', () => {
        calls++
        throw Object.assign(new Error('no answer'), { outcome: 'unknown' })
      }),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    const events: unknown[] = []
    punctual.on('gate.unknown', (event) => events.push(event))
    await punctual.start()
    const { id } = await punctual.enqueue(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    const dead = await punctual.get(id)
    expect([dead?.state, dead?.error?.code, calls]).toEqual(['dead', 'gate.held', 1])
    const { items } = await punctual.gates({ state: 'unknown' })
    expect(items).toMatchObject([{ scope: id, key: 'charge', reason: 'no answer', tenant: 'default' }])
    expect(events).toMatchObject([{ key: 'charge', occurrence: id, reason: 'no answer' }, { key: 'charge' }])

    await punctual.resolveGate({ scope: id, key: 'charge' }, { happened: true, result: 'ch_1' })
    await punctual.retry(id)
    await punctual.idle()
    expect(await punctual.result(id)).toBe('ch_1')
    expect(calls).toBe(1)
    const again = punctual.resolveGate({ scope: id, key: 'charge' }, { happened: false })
    await expect(again).rejects.toMatchObject({ code: 'gate.conflict' })
  })

  it('puts scheduled work with a held effect aside as dead, too', async () => {
    const pay = defineJob('pay', {}, (ctx) =>
      ctx.once('charge', () => {
        throw Object.assign(new Error('no answer'), { outcome: 'unknown' })
      }),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const { id } = await punctual.trigger(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect((await punctual.get(id))?.state).toBe('dead')
  })

  it('resolves an unknown outcome by check, and performs only what did not happen', async () => {
    const ledger = new Set<string>()
    let calls = 0
    const pay = defineJob<{ isBooked: boolean }>('pay', {}, (ctx) =>
      ctx.once(
        'charge',
        ({ idempotencyKey }) => {
          calls++
          if (ctx.payload.isBooked || ctx.attempt > 1) ledger.add(idempotencyKey)
          if (ctx.attempt === 1) throw Object.assign(new Error('socket closed'), { code: 'ECONNRESET' })
          return 'paid'
        },
        {
          check: ({ idempotencyKey }) => (ledger.has(idempotencyKey) ? { happened: true, result: 'found' } : { happened: false }),
        },
      ),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const booked = await punctual.enqueue(pay, { isBooked: true })
    const dropped = await punctual.enqueue(pay, { isBooked: false })
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect([await booked.result(), await dropped.result(), calls, ledger.size]).toEqual(['found', 'paid', 3, 2])
  })

  it('retries by the policy while check cannot tell', async () => {
    let checks = 0
    const pay = defineJob('pay', {}, (ctx) =>
      ctx.once(
        'charge',
        () => {
          throw Object.assign(new Error('no answer'), { outcome: 'unknown' })
        },
        { check: () => (++checks < 2 ? null : { happened: true, result: 7 }) },
      ),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const handle = await punctual.enqueue(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect([await handle.result(), checks]).toEqual([7, 2])
  })

  it('repeats an unknown outcome under the same idempotency key where that is asked for', async () => {
    const keys: string[] = []
    const pay = defineJob('pay', {}, (ctx) =>
      ctx.once(
        'charge',
        ({ idempotencyKey }) => {
          keys.push(idempotencyKey)
          if (keys.length === 1) throw new DOMException('no answer', 'TimeoutError')
          return 'paid'
        },
        { onUnknown: 'repeat' },
      ),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const handle = await punctual.enqueue(pay)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect(await handle.result()).toBe('paid')
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  })

  it('keeps an outcome unknown when its repeated try fails: the first one may have happened', async () => {
    let tries = 0
    const pay = defineJob('pay', { retry: { max: 1, interval: '1s' } }, (ctx) =>
      ctx.once(
        'charge',
        () => {
          tries += 1
          throw tries === 1 ? new DOMException('no answer', 'TimeoutError') : new Error('refused')
        },
        { onUnknown: 'repeat' },
      ),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const { id } = await punctual.enqueue(pay)
    await clock.advance(10_000)
    await punctual.idle()
    expect([tries, (await punctual.get(id))?.state]).toEqual([2, 'dead'])
    expect((await punctual.gates({ state: 'unknown' })).items).toMatchObject([{ scope: id, reason: 'refused' }])
  })

  it('ends a check that hangs with the timeout of the call, and the outcome stays unknown', async () => {
    const { punctual, clock } = node(newDatabase()(), [])
    const cut = Object.assign(new Error('no answer'), { outcome: 'unknown' })
    await punctual.once('charge', 'k', () => Promise.reject(cut)).catch(() => {})
    const hanging = new Promise<null>(() => {})
    const called = punctual.once('charge', 'k', () => 'paid', { check: () => hanging, timeout: '2s' }).catch((error) => error)
    await clock.settle()
    await clock.advance(2000)
    expect(await called).toMatchObject({ code: 'timeout' })
    expect((await punctual.gates({ state: 'unknown' })).items).toMatchObject([{ scope: 'charge', key: 'k' }])
    expect(await punctual.once('charge', 'k', () => 'paid', { check: () => ({ happened: false }) })).toBe('paid')
  })

  it('a process that was stopped between its reservation and its effect asks again, and does not perform it beside another', async () => {
    const connect = newDatabase()
    const charges: string[] = []
    const check = () => (charges.length > 0 ? { happened: true as const, result: charges[0] } : { happened: false as const })
    const slow = faultyStore(connect())
    const clock = manualClock()
    const [stopped, quick] = [slow, connect()].map((store) => createPunctual({ store, clock, log: silent })) as [
      Punctual,
      Punctual,
    ]
    const charge = (name: string) => async () => {
      charges.push(name)
      return name
    }
    const answer = slow.holdAnswer('gate')
    const first = stopped.once('charge', 'k', charge('stopped'), { check })
    await expect.poll(async () => (await quick.gates()).items.length).toBe(1)
    await clock.advance(70_000)
    expect(await quick.once('charge', 'k', charge('quick'), { check })).toBe('quick')
    answer()
    expect([await first, charges]).toEqual(['quick', ['quick']])
    await Promise.all([stopped.close(), quick.close()])
  })

  it('a node that was cut off while it reserved a key does not perform what another has performed', async () => {
    const { node: join, pass } = newCluster({ connect: newDatabase() })
    const charges: string[] = []
    const pay = (name: string) =>
      defineJob('pay', {}, (ctx) =>
        ctx.once('charge', () => charges.push(name), {
          check: () => (charges.length > 0 ? { happened: true, result: 1 } : { happened: false }),
        }),
      )
    const first = await join({ jobs: [pay('first')] })
    const answer = first.store.holdAnswer('gate')
    const { id } = await first.punctual.enqueue('pay')
    await expect.poll(() => first.store.calls('gate'), { timeout: 10_000 }).toBe(1)
    first.store.cut()
    const second = await join({ jobs: [pay('second')] })
    await pass(60)
    expect([(await second.punctual.get(id))?.state, charges]).toEqual(['completed', ['second']])
    first.store.heal()
    answer()
    await pass(10)
    expect(charges).toEqual(['second'])
  })

  it('calls the outcome unknown when the attempt times out, and takes a late one in', async () => {
    const late = Promise.withResolvers<string>()
    const pay = defineJob('pay', { timeout: '1s', retry: { max: 0 } }, (ctx) => ctx.once('charge', () => late.promise))
    const { punctual, clock } = node(newDatabase()(), [pay])
    const unknown = probe(punctual).next('gate.unknown')
    await punctual.start()
    const { id } = await punctual.enqueue(pay)
    const started = probe(punctual).next('task.started')
    await started
    await clock.advance(1000)
    await unknown
    expect((await punctual.gates({ state: 'unknown' })).items).toMatchObject([{ scope: id }])
    late.resolve('paid late')
    await expect.poll(async () => (await punctual.gates()).items).toMatchObject([{ state: 'done', result: 'paid late' }])
  })

  it('leaves the outcome unknown when an effect throws an error of its own at the timeout of the attempt', async () => {
    let charges = 0
    const pay = defineJob('pay', { timeout: '1s' }, (ctx) =>
      ctx.once('charge', async (given) => {
        charges++
        await untilAborted(given).catch(() => {})
        throw new Error('the provider did not answer')
      }),
    )
    const { punctual, clock } = node(newDatabase()(), [pay])
    await punctual.start()
    const started = probe(punctual).next('task.started')
    const { id } = await punctual.enqueue(pay)
    await started
    await clock.advance(1000)
    await punctual.idle()
    await clock.advance(1000)
    await punctual.idle()
    expect(charges).toBe(1)
    expect((await punctual.gates({ state: 'unknown' })).items).toMatchObject([{ scope: id }])
  })

  it('lets an effect end through a clean stop: its signal does not abort', async () => {
    const began = Promise.withResolvers<AbortSignal>()
    const answer = Promise.withResolvers<string>()
    const stopping = Promise.withResolvers<void>()
    const pay = defineJob('pay', (ctx) => {
      ctx.signal.addEventListener('abort', () => stopping.resolve())
      return ctx.once('charge', ({ signal }) => {
        began.resolve(signal)
        return answer.promise
      })
    })
    const { punctual } = node(newDatabase()(), [pay])
    await punctual.start()
    const { id } = await punctual.enqueue(pay)
    const signal = await began.promise
    const stopped = punctual.stop()
    await stopping.promise
    expect(signal.aborted).toBe(false)
    answer.resolve('paid')
    await stopped
    expect(await punctual.get(id)).toMatchObject({ state: 'completed' })
    expect((await punctual.gates()).items).toMatchObject([{ state: 'done', result: 'paid' }])
  })

  it('has keys of its own in each occurrence, and shares those of a scope that is given', async () => {
    let [own, shared] = [0, 0]
    const pay = defineJob('pay', {}, async (ctx) => {
      await ctx.once('mail', () => ++own)
      return ctx.once('order-42', () => ++shared, { scope: 'charge' })
    })
    // One at a time: a call that finds the shared key busy waits by the clock, which stands still here.
    const { punctual } = node(newDatabase()(), [pay], { concurrency: 1 })
    await punctual.start()
    await punctual.enqueue(pay)
    await punctual.enqueue(pay)
    await punctual.enqueue(pay, undefined, { tenant: 'acme' })
    await punctual.idle()
    expect([own, shared]).toEqual([3, 2])
    expect((await punctual.tenant('acme').gates({ scope: 'charge' })).items).toMatchObject([{ tenant: 'acme', hits: 0 }])
  })

  it.skipIf(storeName === 'memory')('commits the writes of the effect together with the key', async () => {
    const { sql, read } = statementsOf(storeName)
    let attempts = 0
    const book = defineJob('book', {}, async (ctx) => {
      attempts++
      await ctx.once('row', (tx: SqlTransaction) => sql(tx, ctx.attempt), { tx: true })
      if (ctx.attempt < 3) throw new Error('later')
    })
    const { punctual, clock } = node(newDatabase()(), [book])
    await punctual.start()
    await punctual.once('setup', 'table', (tx: SqlTransaction) => sql(tx, 0), { tx: true })
    const { id } = await punctual.enqueue(book)
    await punctual.idle()
    await clock.advance(5000)
    await punctual.idle()
    expect([(await punctual.get(id))?.state, attempts]).toEqual(['completed', 3])
    expect(await punctual.once('setup', 'read', (tx: SqlTransaction) => read(tx), { tx: true })).toEqual([1])
  })
})

/** A DatabaseSync on SQLite, a client of pg on PostgreSQL. */
type SqlTransaction = any

/** Makes a table with 0, and inserts a number otherwise. */
function statementsOf(store: string) {
  const create = 'CREATE TABLE IF NOT EXISTS once_booked (n int)'
  if (store === 'sqlite')
    return {
      sql: (tx: SqlTransaction, n: number) =>
        void (n === 0 ? tx.exec(create) : tx.prepare('INSERT INTO once_booked VALUES (?)').run(n)),
      read: (tx: SqlTransaction) =>
        tx
          .prepare('SELECT n FROM once_booked')
          .all()
          .map((row: { n: number }) => row.n),
    }
  return {
    sql: async (tx: SqlTransaction, n: number) => {
      if (n === 0) await tx.query(`DROP TABLE IF EXISTS once_booked`)
      await (n === 0 ? tx.query(create) : tx.query('INSERT INTO once_booked VALUES ($1)', [n]))
    },
    read: async (tx: SqlTransaction) => (await tx.query('SELECT n FROM once_booked')).rows.map((row: { n: number }) => row.n),
  }
}

describe('BL-6 punctual.once', () => {
  onEachStore('outside of jobs', (newDatabase, storeName) => {
    it('gives duplicates of a webhook the recorded outcome', async () => {
      const { punctual } = node(newDatabase()(), [])
      let booked = 0
      const receive = (id: string, body: object) => punctual.once('webhook', id, () => ({ booked: ++booked }), { payload: body })
      expect(await receive('evt_1', { amount: 5, currency: 'EUR' })).toEqual({ booked: 1 })
      expect(await receive('evt_1', { currency: 'EUR', amount: 5 })).toEqual({ booked: 1 })
      await expect(receive('evt_1', { amount: 6, currency: 'EUR' })).rejects.toMatchObject({ code: 'gate.conflict' })
      expect(await receive('evt_2', { amount: 5 })).toEqual({ booked: 2 })
      expect((await punctual.gates({ key: 'evt_1' })).items).toMatchObject([{ hits: 1, occurrence: null }])
      expect(await punctual.once('webhook', 'evt_1', () => null, null as never)).toEqual({ booked: 1 })
    })

    it('waits for a call in the middle of the same effect, and returns its outcome', async () => {
      const { punctual, clock } = node(newDatabase()(), [])
      const effect = Promise.withResolvers<string>()
      const began = Promise.withResolvers<void>()
      const first = punctual.once('s', 'k', () => {
        began.resolve()
        return effect.promise
      })
      await began.promise
      const second = punctual.once('s', 'k', () => 'never')
      const impatient = punctual.once('s', 'k', () => 'never', { wait: 0 })
      await expect(impatient).rejects.toMatchObject({ code: 'gate.busy' })
      effect.resolve('done')
      expect(await first).toBe('done')
      await clock.settle()
      await clock.advance(200)
      expect(await second).toBe('done')
    })

    it('aborts the effect at its timeout, and its outcome is unknown', async () => {
      const { punctual, clock } = node(newDatabase()(), [])
      const began = Promise.withResolvers<AbortSignal>()
      const call = punctual.once(
        's',
        'k',
        ({ signal }) => {
          began.resolve(signal)
          return new Promise(() => {})
        },
        { timeout: '3s' },
      )
      const refused = expect(call).rejects.toMatchObject({ code: 'timeout' })
      const signal = await began.promise
      await clock.advance(3000)
      await refused
      expect(signal.aborted).toBe(true)
      await expect(punctual.once('s', 'k', () => 1)).rejects.toMatchObject({
        code: 'gate.held',
        details: { scope: 's', key: 'k' },
      })
    })

    it('records an effect whose result cannot be written, and says so', async () => {
      const { punctual } = node(newDatabase()(), [])
      let calls = 0
      const call = () =>
        punctual.once('s', 'k', () => {
          calls++
          return 5n
        })
      await expect(call()).rejects.toMatchObject({ code: 'payload.invalid' })
      expect(await call()).toBeUndefined()
      expect(calls).toBe(1)
    })

    it('forgets an outcome after its retention', async () => {
      const { punctual, clock } = node(newDatabase()(), [], { gateRetention: '1h' })
      let calls = 0
      const call = (retention?: string) =>
        punctual.once('s', retention ?? 'k', () => ++calls, { ...(retention !== undefined && { retention }) })
      await call()
      await call('forever')
      await clock.advance(3_600_000)
      expect([await call(), await call('forever')]).toEqual([3, 2])
    })

    it.skipIf(storeName !== 'memory')('refuses a transaction where the store has none to share', async () => {
      const { punctual } = node(newDatabase()(), [])
      const call = punctual.once('s', 'k', () => 1, { tx: true })
      await expect(call).rejects.toMatchObject({ code: 'transaction.unsupported' })
    })

    it.each([
      ['a key over its length', () => ['s', 'k'.repeat(201), () => 1, {}], 'key.invalid'],
      ['a scope over its length', () => ['s'.repeat(201), 'k', () => 1, {}], 'key.invalid'],
      ['an empty key', () => ['s', '', () => 1, {}], 'key.invalid'],
      ['an unknown option', () => ['s', 'k', () => 1, { retries: 1 }], 'option.unknown'],
      ['an effect that is none', () => ['s', 'k', 'x', {}], 'option.invalid'],
      ['a check that is none', () => ['s', 'k', () => 1, { check: true }], 'option.invalid'],
      ['a check beside tx', () => ['s', 'k', () => 1, { tx: true, check: () => null }], 'option.unknown'],
      ['an onUnknown that is none', () => ['s', 'k', () => 1, { onUnknown: 'retry' }], 'option.invalid'],
      ['a payload that is not JSON', () => ['s', 'k', () => 1, { payload: 5n }], 'payload.invalid'],
      ['a wait that is no duration', () => ['s', 'k', () => 1, { wait: 'soon' }], 'duration.invalid'],
    ])('refuses %s, and writes nothing', async (_, given, code) => {
      const { punctual } = node(newDatabase()(), [])
      const call = (punctual.once as (...args: unknown[]) => Promise<unknown>).apply(punctual, given() as unknown[])
      await expect(call).rejects.toMatchObject({ code })
      expect((await punctual.gates()).items).toEqual([])
    })

    it('refuses to resolve a key that does not exist', async () => {
      const { punctual } = node(newDatabase()(), [])
      const resolving = punctual.resolveGate({ scope: 's', key: 'k' }, { happened: true })
      await expect(resolving).rejects.toMatchObject({ code: 'gate.unknown' })
      const odd = punctual.resolveGate({ scope: 's', key: 'k' }, { happened: false, result: 1 })
      await expect(odd).rejects.toMatchObject({ code: 'option.invalid' })
    })
  })
})
