import { describe, expect, it, vi } from 'vitest'
import { MemoryDoor } from '../../src/store/memory/claim/door.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { State } from '../../src/store/memory/state.ts'
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
    'lets any settle pass': (store) => ({
      settle: async (items, options) => {
        const answer = await store.settle(items, options)
        return { ...answer, items: answer.items.map(() => 'ok') }
      },
    }),
    'does not know a settle said twice': (store) => {
      const ended = new Set<string>()
      return {
        settle: async (items, options) => {
          const names = items.map(({ member: { ref, turn } }) => `${ref} ${turn}`)
          const { items: answers, claimed } = await store.settle(items, options)
          const told = answers.map((answer, i) => (ended.has(names[i] as string) ? 'lost' : answer))
          for (const name of names) ended.add(name)
          return { items: told, claimed }
        },
      }
    },
    'forgets attempts that settle with their turn': (store) => ({
      settle: (items, options) =>
        store.settle(
          items.map((item) => ({ ...item, attempts: [] })),
          options,
        ),
    }),
    'retries at once': (store) => ({
      settle: (items, options) =>
        store.settle(
          items.map((item) => ({ ...item, delayMs: 0 })),
          options,
        ),
    }),
    'never removes a claim that is done': (store) => ({
      settle: (items, { done: _, ...options } = {}) => store.settle(items, options),
    }),
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
      rescue: (request) => store.rescue({ ...request, mostRecoveries: request.mostRecoveries + 3 }),
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
    'says nothing to its subscribers': () => ({ hints: { isLive: true, subscribe: () => () => {}, wake: async () => {} } }),
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
    'forgets the hooks of what ends': (store) => ({
      rescue: async (request) => ({ ...(await store.rescue(request)), openHooks: [] }),
    }),
    'claims nothing along with an end': (store) => ({
      settle: (items, { claim: _, ...options } = {}) => store.settle(items, options),
    }),
    'counts no failures': (store) => ({ counts: async (query) => ({ ...(await store.counts(query)), failuresInRow: 0 }) }),
  }

  it.each(Object.entries(faults))('finds a store that %s', async (_, fault) => {
    expect(await failures(storeSuite({ name: 'faulty', open: faulty(fault), lacks }))).toHaveLength(1)
  })

  const plantedRules: Record<string, () => void> = {
    'does not free a key by rescue': () => {
      const { giveUpKeys } = State.prototype
      vi.spyOn(State.prototype, 'giveUpKeys').mockImplementation(function (this: State, entry, ...more) {
        const last = entry.turns.at(-1)
        if (last?.end !== 'dead' || last.reason === null) giveUpKeys.call(this, entry, ...more)
      })
    },
    'frees a key between two tries': () => {
      const { nextTurn } = State.prototype
      vi.spyOn(State.prototype, 'nextTurn').mockImplementation(function (this: State, entry, end, dueAt) {
        nextTurn.call(this, entry, end, dueAt)
        this.takeGrantBack(entry)
      })
    },
    'keeps the keys of what was given back without a start': () => {
      const { nextTurn } = State.prototype
      vi.spyOn(State.prototype, 'nextTurn').mockImplementation(function (this: State, entry, end, dueAt) {
        nextTurn.call(this, entry, end.end === 'released' ? { ...end, startedAt: end.startedAt ?? 0 } : end, dueAt)
      })
    },
    'loses a freed slot': () => {
      vi.spyOn(State.prototype, 'release').mockImplementation(() => {})
    },
    'does not knock when one leaves a line': () => {
      vi.spyOn(State.prototype, 'revisitLine').mockImplementation(() => {})
    },
    'lets a line go by age alone': () => {
      vi.spyOn(MemoryDoor.prototype, 'line').mockImplementation(function (this: MemoryDoor, key) {
        return [...this.state.lines.of(key)].sort((a, b) => b.ref - a.ref)
      })
    },
    'grants keys to work that no node serves': () => {
      vi.spyOn(MemoryDoor.prototype, 'isServed').mockImplementation(() => true)
    },
    'keeps the grants of a node that has left': () => {
      vi.spyOn(State.prototype, 'removeNode').mockImplementation(function (this: State, boot) {
        this.nodes.delete(boot)
      })
    },
    'keeps a place in the overlap for one that was put off': () => {
      vi.spyOn(State.prototype, 'reschedule').mockImplementation(function (this: State, entry, dueAt) {
        this.makeReady(entry, dueAt)
      })
    },
    'skips without a reason': () => {
      const { endTurn } = State.prototype
      vi.spyOn(State.prototype, 'endTurn').mockImplementation(function (this: State, entry, end) {
        endTurn.call(this, entry, end.end === 'skipped' ? { ...end, reason: null } : end)
      })
    },
    'lets what was planned before a pause wait for its end': () => {
      const { pass } = MemoryDoor.prototype
      vi.spyOn(MemoryDoor.prototype, 'pass').mockImplementation(function (this: MemoryDoor, entry, verdict) {
        const isPaused = 'state' in verdict && verdict.reason === 'paused'
        pass.call(this, entry, isPaused ? { reason: 'pause', key: null, wakeAt: null } : verdict)
      })
    },
    'strands what only waited for a key': () => {
      const { makeWait } = State.prototype
      vi.spyOn(State.prototype, 'makeWait').mockImplementation(function (this: State, entry, limit) {
        if (limit.kind === 'overlap') this.setAside(entry, { reason: 'stranded', key: null, wakeAt: null })
        else makeWait.call(this, entry, limit)
      })
    },
    'notes no end for its hook': () => {
      vi.spyOn(State.prototype, 'noteHook').mockImplementation(() => {})
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
      settle: (items, options) =>
        store.settle(
          items.map((item) => ({ ...item, delayMs: item.delayMs + 1 })),
          options,
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
