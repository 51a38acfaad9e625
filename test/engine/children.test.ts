import type { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createPunctual, type Punctual } from '../../src/index.ts'
import { defineJob } from '../../src/model/definition.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { onEachStore } from '../support/each-store.ts'

const child = defineJob<{ n: number }>('child', ({ payload }) => payload.n)
const never = () => new Promise<void>(() => {})

onEachStore('TM-1 work that handlers create', (open) => {
  async function started(jobs: Parameters<typeof createPunctual>[0]['jobs']) {
    const store: Store = open()()
    const clock = manualClock()
    const punctual = createPunctual({ store, clock, jobs: jobs ?? [] })
    await punctual.start()
    return { punctual, clock, store }
  }

  const idsOf = async (punctual: Punctual, parent: string) => (await punctual.list({ parent })).items.map(({ id }) => id)

  it('has its parent in get, in lists and in the context', async () => {
    const parents: (string | null)[] = []
    const leaf = defineJob('leaf', (ctx) => {
      parents.push(ctx.parent)
    })
    const root = defineJob('root', async (ctx) => {
      const { id, outcome } = await ctx.enqueue(leaf)
      expect(outcome).toBe('created')
      return id
    })
    const { punctual, clock } = await started([root, leaf])
    const handle = await punctual.tenant('acme').enqueue(root)
    await clock.settle()
    const id = (await handle.result()) as string
    expect(await punctual.get(id)).toMatchObject({ parent: handle.id, tenant: 'acme', job: 'leaf', state: 'completed' })
    expect(parents).toEqual([handle.id])
    expect((await punctual.list({ parent: handle.id, tenant: 'acme', job: leaf })).items).toMatchObject([
      { id, parent: handle.id },
    ])
    expect((await punctual.get(handle.id))?.parent).toBeNull()
    await punctual.close()
  })

  it('is not created again by a later attempt, also when the order of calls differs', async () => {
    const orders = [
      [1, 2, 2],
      [2, 3, 1, 2],
    ]
    const root = defineJob('root', { retry: { max: 1, interval: '1s' } }, async (ctx) => {
      const made: string[] = []
      for (const n of orders[ctx.attempt - 1] as number[]) made.push((await ctx.enqueue(child, { n })).outcome)
      await ctx.enqueue(child, { n: 9 }, { key: 'once' })
      if (ctx.attempt === 1) throw new Error('again')
      return made
    })
    const { punctual, clock } = await started([root, child])
    const handle = await punctual.enqueue(root)
    await clock.advance('5s')
    expect(await handle.result()).toEqual(['existing', 'created', 'existing', 'existing'])
    const all = await Promise.all((await idsOf(punctual, handle.id)).map((id) => punctual.get(child, id)))
    expect(all.map((one) => one?.payload.n).sort()).toEqual([1, 2, 2, 3, 9])
    await punctual.close()
  })

  it('is canceled with its parent, at every depth', async () => {
    const leaf = defineJob('leaf', () => {})
    const middle = defineJob('middle', async (ctx) => {
      await ctx.enqueue(leaf, undefined, { delay: '1h' })
      await never()
    })
    const root = defineJob('root', async (ctx) => {
      await ctx.enqueue(middle)
      await ctx.enqueue(leaf, undefined, { delay: '1d' })
    })
    const { punctual, clock } = await started([root, middle, leaf])
    const handle = await punctual.enqueue(root)
    await clock.settle()
    const [waits, runs] = await idsOf(punctual, handle.id)
    expect(await punctual.cancel(handle.id)).toBe('ended')
    expect(await punctual.cancel(handle.id, { children: true, reason: 'no more' })).toBe('canceling')
    await clock.advance('10s')
    for (const id of [waits, runs, ...(await idsOf(punctual, runs as string))])
      expect(await punctual.get(id as string)).toMatchObject({ state: 'canceled' })
    expect((await punctual.list({ state: ['pending', 'running'] })).items).toEqual([])
    await punctual.close()
  })

  it('leaves none behind when the parent goes on creating while it is canceled', async () => {
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const thrown: unknown[] = []
    const root = defineJob<{ within: boolean }>('root', { retry: { max: 0 } }, async (ctx) => {
      await ctx.enqueue(child, { n: 0 }, { delay: '1h' })
      asked.resolve()
      await go.promise
      const create = () => ctx.enqueue(child, { n: 1 }, { delay: '1h' })
      const isCommitted = ctx.payload.within && (await ctx.transaction(() => void create()).catch((error) => thrown.push(error)))
      if (!isCommitted) await create().catch((error: unknown) => thrown.push(error))
    })
    const { punctual, clock, store } = await started([root, child])
    const handle = await punctual.enqueue(root, { within: store.abilities.has('tx') })
    await clock.settle()
    await asked.promise
    // The handler creates its next child after the cancel is recorded, and before any beat has brought the signal.
    const { beat } = store
    const [held, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    store.beat = async (given) => {
      heard.resolve()
      await held.promise
      return beat.call(store, given)
    }
    const canceled = punctual.cancel(handle.id, { children: true, reason: 'withdrawn' })
    expect(await canceled).toBe('canceling')
    go.resolve()
    await heard.promise
    held.resolve()
    await clock.advance('10s')
    expect(thrown).toMatchObject([{ code: 'cancel' }])
    expect(await punctual.get(handle.id)).toMatchObject({ state: 'canceled', reason: 'withdrawn' })
    const children = (await punctual.list({ parent: handle.id })).items
    expect(children.map(({ state }) => state)).toEqual(['canceled'])
    await punctual.close()
  })

  it('can be canceled by the handler, in its own tenant alone', async () => {
    const root = defineJob<{ other: string }>('root', async (ctx) => {
      const { id } = await ctx.enqueue(child, { n: 1 }, { key: 'k', delay: '1h' })
      return [
        await ctx.cancel(ctx.payload.other),
        await ctx.cancel({ job: child, key: 'k' }),
        (await ctx.cancel(id)) as string,
        await ctx.cancel({ job: child, key: 'none' }),
      ]
    })
    const { punctual, clock } = await started([root, child])
    const other = await punctual.enqueue(child, { n: 1 }, { tenant: 'other', delay: '1h' })
    const handle = await punctual.enqueue(root, { other: other.id })
    await clock.settle()
    expect(await handle.result()).toEqual(['unknown', 'canceled', 'canceled', 'unknown'])
    await punctual.close()
  })

  it('is refused to a handler that has ended', async () => {
    let late: () => Promise<unknown> = async () => {}
    const root = defineJob('root', (ctx) => {
      late = () =>
        Promise.all(
          [ctx.enqueue(child, { n: 1 }), ctx.cancel({ job: 'child', key: 'k' })].map((call) => call.catch((error) => error)),
        )
    })
    const { punctual, clock } = await started([root, child])
    const { id } = await punctual.enqueue(root)
    await clock.settle()
    expect(await late()).toMatchObject([{ code: 'lost' }, { code: 'lost' }])
    expect(await idsOf(punctual, id)).toEqual([])
    await punctual.close()
  })

  it('is refused with the field when its options or payload are wrong', async () => {
    const strict = defineJob('strict', { payload: z.object({ n: z.number() }) }, () => {})
    const root = defineJob('root', async (ctx) => {
      const message = async (call: () => Promise<unknown>) => call().catch((error: Error) => error.message)
      return [
        await message(() => ctx.enqueue(strict, { n: 'one' } as never)),
        await message(() => ctx.enqueue(child, { n: 1 }, { tenant: 'other' } as never)),
        await message(() => ctx.cancel('x', { children: 'yes' } as never)),
      ]
    })
    const { punctual, clock } = await started([root, child, strict])
    const handle = await punctual.enqueue(root)
    await clock.settle()
    const [payload, tenant, children] = (await handle.result()) as [string, string, string]
    expect(payload).toContain('payload.n')
    expect(tenant).toContain('tenant')
    expect(children).toContain('children')
    expect(await idsOf(punctual, handle.id)).toEqual([])
    await punctual.close()
  })

  it('travels with ctx.transaction: it exists when the task has succeeded, and not when the work throws', async () => {
    const outcomes: string[] = []
    const root = defineJob('root', { retry: { max: 1, interval: '1s' } }, async (ctx) => {
      await ctx.transaction(() => {
        void ctx.enqueue(child, { n: 1 }).then(({ outcome }) => outcomes.push(outcome))
        void ctx.cancel({ job: child, key: 'waits' })
        if (ctx.attempt === 1) throw new Error('undone')
      })
    })
    const { punctual, clock, store } = await started([root, child])
    const waits = await punctual.enqueue(child, { n: 0 }, { key: 'waits', delay: '1d' })
    const handle = await punctual.enqueue(root)
    if (!store.abilities.has('tx')) {
      await expect(clock.advance('5s').then(() => handle.result())).rejects.toMatchObject({ code: 'occurrence.dead' })
      return punctual.close()
    }
    await clock.settle()
    expect(await idsOf(punctual, handle.id)).toEqual([])
    await clock.advance('5s')
    await handle.result()
    expect(outcomes).toEqual(['deferred', 'deferred'])
    const [id] = await idsOf(punctual, handle.id)
    expect(await punctual.get(id as string)).toMatchObject({ state: 'completed', parent: handle.id })
    expect(await punctual.get(waits.id)).toMatchObject({ state: 'canceled' })
    await punctual.close()
  })

  it('fails the transaction when a call inside of it is refused', async () => {
    const strict = defineJob('strict', { payload: z.object({ n: z.number() }) }, () => {})
    const slow = defineJob('slow', { payload: z.object({ n: z.number() }).refine(async () => true) }, () => {})
    const root = defineJob<{ wrong: boolean }>('root', async (ctx) => {
      await ctx.transaction((tx: DatabaseSync | { query(text: string): Promise<unknown> }) => {
        void ctx.enqueue(ctx.payload.wrong ? strict : slow, { n: ctx.payload.wrong ? ('1' as never) : 1 })
        return 'query' in tx ? tx.query('SELECT 1').then(() => {}) : undefined
      })
    })
    const { punctual, clock, store } = await started([root, strict, slow])
    if (!store.abilities.has('tx')) return punctual.close()
    const wrong = await punctual.enqueue(root, { wrong: true }, { retry: { max: 0 } })
    const late = await punctual.enqueue(root, { wrong: false }, { retry: { max: 0 } })
    await clock.settle()
    await expect(wrong.result()).rejects.toMatchObject({ cause: { message: expect.stringContaining('payload.n') } })
    const isAsync = store.name === 'postgres'
    if (isAsync) await late.result()
    else await expect(late.result()).rejects.toMatchObject({ cause: { message: expect.stringContaining('asynchronous schema') } })
    expect(await idsOf(punctual, late.id)).toHaveLength(isAsync ? 1 : 0)
    await punctual.close()
  })
})

describe('ctx.enqueue of a handler that was signaled to stop', () => {
  it('creates nothing more', async () => {
    const { memory } = await import('../../src/store/memory/index.ts')
    const late = Promise.withResolvers<unknown>()
    const root = defineJob('root', (ctx) => {
      const aborted = new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
      late.resolve(aborted.then(() => ctx.enqueue(child, { n: 1 })).catch((error: unknown) => error))
      return aborted
    })
    const clock = manualClock()
    const punctual = createPunctual({ store: memory(), clock, jobs: [root, child] })
    await punctual.start()
    const { id } = await punctual.enqueue(root)
    await clock.settle()
    await punctual.cancel(id)
    await clock.advance('10s')
    expect(await late.promise).toMatchObject({ code: 'cancel' })
    expect((await punctual.list({ parent: id })).items).toEqual([])
    await punctual.close()
  })
})
