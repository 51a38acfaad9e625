import { describe, expect, it, vi } from 'vitest'
import { Ledger } from '../../src/store/ledger/ledger.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store, StoreEnv } from '../../src/store/store.ts'
import { type StoreCase, storeSuite } from '../../src/testing/index.ts'
import { checkRandomSteps } from '../support/random-steps.ts'

const lacks = { tx: 'not here', join: 'not here', durable: 'not here', 'many-processes': 'not here' }

/** A memory store that does some verbs its own way. */
function faulty(fault: (store: MemoryStore) => Partial<Store>) {
  return async (env: StoreEnv): Promise<Store> => {
    const store = new MemoryStore()
    const verbs = fault(store)
    const faultyStore = new Proxy<Store>(store, {
      get: (target, name) => {
        const own = verbs[name as keyof Store] ?? target[name as keyof Store]
        return typeof own === 'function' ? own.bind(target) : own
      },
    })
    await faultyStore.open(env)
    return faultyStore
  }
}

async function failures(cases: readonly StoreCase[], most = 1): Promise<readonly string[]> {
  const failed: string[] = []
  for (const { title, skip, run } of cases) {
    if (skip === null && failed.length < most) await run().catch(() => failed.push(title))
  }
  return failed
}

describe('the store suite', () => {
  it('JS-2 has every case registered once, by a title that begins with the name of the store', () => {
    const titles = storeSuite({ name: 'mine', open: faulty(() => ({})), lacks }).map(({ title }) => title)
    expect(new Set(titles).size).toBe(titles.length)
    expect(titles.length).toBeGreaterThan(400)
    expect(titles.every((title) => title.startsWith('mine: '))).toBe(true)
  })

  it('skips only for a declared lack, with its reason in the title', () => {
    const open = faulty(() => ({}))
    const skipped = storeSuite({ name: 'mine', open, lacks: { tx: 'no database' } }).filter(({ skip }) => skip !== null)
    expect(skipped.every(({ title, skip }) => skip === 'no database' && title.endsWith('(skipped: no database)'))).toBe(true)
    expect(skipped.length).toBeGreaterThan(0)
    expect(storeSuite({ name: 'mine', open }).every(({ skip }) => skip === null)).toBe(true)
  })

  it('fails for an ability that is neither had nor declared as lacking', async () => {
    const cases = storeSuite({ name: 'mine', open: faulty(() => ({})), lacks: { tx: 'no', join: 'no', durable: 'no' } })
    expect(await failures(cases)).toEqual(['mine: life: every ability is either had or declared as lacking with a reason'])
  })

  const faults: Record<string, (store: MemoryStore) => Partial<Store>> = {
    'claims a millisecond early': (store) => ({
      open: (env) => store.open({ ...env, clock: { ...env.clock, wall: () => env.clock.wall() + 1 } }),
    }),
    'lets any settle pass': (store) => ({ settle: async (items, done) => (await store.settle(items, done)).map(() => 'ok') }),
    'does not know a settle said twice': (store) => {
      const ended = new Set<string>()
      return {
        settle: async (items, done) => {
          const names = items.map(({ ref, turn }) => `${ref} ${turn}`)
          const answers = (await store.settle(items, done)).map((answer, i) => (ended.has(names[i] as string) ? 'lost' : answer))
          for (const name of names) ended.add(name)
          return answers
        },
      }
    },
    'forgets attempts that settle with their turn': (store) => ({
      settle: (items, done) =>
        store.settle(
          items.map((item) => ({ ...item, attempts: [] })),
          done,
        ),
    }),
    'retries at once': (store) => ({
      settle: (items, done) =>
        store.settle(
          items.map((item) => ({ ...item, delayMs: 0 })),
          done,
        ),
    }),
    'never removes a claim that is done': (store) => ({ settle: (items) => store.settle(items, []) }),
    'keeps where it should reschedule': (store) => ({
      create: (rows) => store.create(rows.map((row) => ({ ...row, onConflict: 'keep' }))),
    }),
    'gives every key to its first holder for ever': (store) => ({
      create: (rows) => store.create(rows.map((row) => ({ ...row, unique: 'ever' }))),
    }),
    'ignores the tenant of an id': (store) => ({ get: (which) => store.get('id' in which ? { id: which.id } : which) }),
    'counts all tenants together': (store) => ({ counts: ({ job }) => store.counts(job === undefined ? {} : { job }) }),
    'lists without an upper bound': (store) => ({ list: ({ to: _, ...filter }) => store.list(filter) }),
    'loses the reason of a cancel': (store) => ({ cancel: ({ which }) => store.cancel({ which, reason: null }) }),
    'never tells a node of cancels': (store) => ({ beat: async (beat) => ({ ...(await store.beat(beat)), cancels: [] }) }),
    'releases claims whose answer is under way': (store) => ({ beat: (beat) => store.beat({ ...beat, inFlight: [] }) }),
    'never releases claims that nobody knows': (store) => ({
      beat: async (beat) =>
        store.beat({ ...beat, inFlight: [...beat.inFlight, ...Array.from({ length: 50 }, (_, i) => `claim-${i}`)] }),
    }),
    'rescues nodes that have beaten since': (store) => ({
      rescue: async (request) => {
        const { nodes } = await store.nodes()
        return store.rescue({ ...request, gone: nodes.filter(({ boot }) => request.gone.some((gone) => gone.boot === boot)) })
      },
    }),
    'rescues without end': (store) => ({
      rescue: (request) => store.rescue({ ...request, delaysMs: [...request.delaysMs, 1, 1, 1] }),
    }),
    'forgets when a handler began': (store) => ({
      checkpoint: (items) => store.checkpoint(items.map(({ start: _, ...item }) => item)),
    }),
    'leaves no tombstones': (store) => ({
      prune: (request) =>
        store
          .prune({ ...request, keyRetentionMs: -1e12 })
          .then((answer) => store.prune({ ...request, limit: 0 }).then(() => answer)),
    }),
    'revives what nobody asked for': (store) => ({
      plan: async (plans) => {
        const { jobs } = await store.jobsToPlan({ horizonMs: 1e12, limit: 100 })
        return store.plan(
          plans.map((plan) => {
            const stranded = jobs.find(({ job }) => job.name === plan.job)?.stranded ?? []
            return { ...plan, revive: stranded.map((at) => ({ at, limits: null, span: null })) }
          }),
        )
      },
    }),
    'updates whatever version is expected': (store) => ({ putJob: ({ expectedVersion: _, ...put }) => store.putJob(put) }),
    'says nothing to its subscribers': () => ({ subscribe: () => () => {} }),
    'makes a version for what is unchanged': (store) => ({
      putJob: async (put) => {
        const answer = await store.putJob(put)
        return answer.outcome === 'unchanged' ? { ...answer, outcome: 'updated' } : answer
      },
    }),
    'lets every version take effect at once': (store) => ({
      putJob: (put) => store.putJob({ ...put, effectiveAt: null }),
    }),
    'takes plans made before a pause': (store) => ({
      plan: async (plans) => {
        const { pauseRevision } = await store.jobsToPlan({ horizonMs: 0, limit: 1 })
        return store.plan(plans.map((plan) => ({ ...plan, pauseRevision })))
      },
    }),
    'pauses without an end': (store) => ({
      pause: (request) => store.pause({ ...request, open: request.open && { ...request.open, until: null } }),
    }),
    'resumes everything at once': (store) => ({
      pause: async (request) => {
        const open = request.open ? [] : await store.readPauses({ since: 0 })
        for (const { tenant, job } of open) await store.pause({ tenant, job, open: null })
        return store.pause(request)
      },
    }),
    'runs what was to end at once': (store) => ({
      plan: (plans) => store.plan(plans.map((plan) => ({ ...plan, rows: plan.rows.map((row) => ({ ...row, end: null })) }))),
    }),
    'forgets ranges': (store) => ({ plan: (plans) => store.plan(plans.map((plan) => ({ ...plan, ranges: [] }))) }),
    'forgets which stranded rows end': (store) => ({ plan: (plans) => store.plan(plans.map((plan) => ({ ...plan, drop: [] }))) }),
    'revives without limits': (store) => ({
      plan: (plans) =>
        store.plan(plans.map((plan) => ({ ...plan, revive: plan.revive.map((one) => ({ ...one, limits: null })) }))),
    }),
    'knows no limits': (store) => ({ create: (rows) => store.create(rows.map((row) => ({ ...row, limits: null }))) }),
    'knows no limit of the cluster': (store) => ({ claim: ({ clusterLimit: _, ...request }) => store.claim(request) }),
    'picks by priority only': (store) => ({ claim: ({ pick: _, ...request }) => store.claim(request) }),
    'keeps secret what it passed over': (store) => ({
      claim: async (request) => ({ ...(await store.claim(request)), passed: [] }),
    }),
    'never gives up on what was not started in time': (store) => ({
      create: (rows) => store.create(rows.map((row) => ({ ...row, startWithinMs: null }))),
    }),
    'expires only at claims': (store) => ({
      rescue: async (request) => ({ ...(await store.rescue(request)), expired: [] }),
    }),
    'counts no failures': (store) => ({ counts: async (query) => ({ ...(await store.counts(query)), failuresInRow: 0 }) }),
  }

  it.each(Object.entries(faults))('finds a store that %s', async (_, fault) => {
    expect(await failures(storeSuite({ name: 'faulty', open: faulty(fault), lacks }))).toHaveLength(1)
  })

  const plantedRules: Record<string, () => void> = {
    'does not free a key by rescue': () => {
      const { endTurn } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'endTurn').mockImplementation(function (this: Ledger, entry, end) {
        const held = end.end === 'dead' && end.reason !== null ? [...entry.holding] : []
        endTurn.call(this, entry, end)
        for (const key of held) this.holders.get(key)?.add(entry)
      })
    },
    'frees a key between two tries': () => {
      const { nextTurn } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'nextTurn').mockImplementation(function (this: Ledger, entry, dueAt) {
        nextTurn.call(this, entry, dueAt)
        for (const key of [...entry.holding]) this.free(entry, key)
      })
    },
    'wakes nobody when a key is freed': () => {
      vi.spyOn(Ledger.prototype, 'free').mockImplementation(function (this: Ledger, entry, key) {
        entry.holding.delete(key)
        this.holders.get(key)?.delete(entry)
      })
    },
    'wakes the youngest first': () => {
      const { free } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'free').mockImplementation(function (this: Ledger, entry, key) {
        const dues = new Map([...this.waiting].map((one) => [one, one.dueAt]))
        for (const one of dues.keys()) one.dueAt = -one.dueAt
        free.call(this, entry, key)
        for (const [one, dueAt] of dues) {
          one.dueAt = dueAt
          if (one.place === 'ready') this.makeReady(one, dueAt)
        }
      })
    },
    'keeps a place in the overlap for one that was put off': () => {
      vi.spyOn(Ledger.prototype, 'reschedule').mockImplementation(function (this: Ledger, entry, dueAt) {
        this.makeReady(entry, dueAt)
      })
    },
    'skips without a reason': () => {
      const { endTurn } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'endTurn').mockImplementation(function (this: Ledger, entry, end) {
        endTurn.call(this, entry, end.end === 'skipped' ? { ...end, reason: null } : end)
      })
    },
    'lets what was planned before a pause wait for its end': () => {
      const { endTurn } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'endTurn').mockImplementation(function (this: Ledger, entry, end) {
        const isOlder = this.pauses.some(({ from }) => entry.record.scheduledAt >= from && entry.record.createdAt <= from)
        if (end.reason === 'paused' && isOlder) this.makeWait(entry, { reason: 'pause', key: null, wakeAt: null })
        else endTurn.call(this, entry, end)
      })
    },
    'strands what only waited for a key': () => {
      const { makeWait } = Ledger.prototype
      vi.spyOn(Ledger.prototype, 'makeWait').mockImplementation(function (this: Ledger, entry, wait) {
        makeWait.call(this, entry, wait.reason === 'overlap' ? { ...wait, reason: 'stranded' } : wait)
      })
    },
  }

  it.each(Object.entries(plantedRules))('finds a store that %s', async (_, plant) => {
    plant()
    try {
      const cases = storeSuite({ name: 'faulty', open: faulty(() => ({})), lacks })
      const found = await failures(cases.filter(({ title }) => !title.startsWith('faulty: model')))
      expect(found).toHaveLength(1)
    } finally {
      vi.restoreAllMocks()
    }
  })

  it('shrinks what differs under random steps', async () => {
    const open = faulty((store) => ({
      settle: (items, done) =>
        store.settle(
          items.map((item) => ({ ...item, delayMs: item.delayMs + 1 })),
          done,
        ),
    }))
    await expect(checkRandomSteps(open, { runs: 200 })).rejects.toThrow(/"verb":"settle"/)
  })

  it('finds the memory store equal to itself under random steps', async () => {
    await checkRandomSteps(
      faulty(() => ({})),
      { runs: 40 },
    )
  })
})
