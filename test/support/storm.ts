import { randomUUID } from 'node:crypto'
import { PunctualError } from '../../src/errors.ts'
import { uuidV7 } from '../../src/model/ids.ts'
import { isEnd, type OccurrenceState } from '../../src/model/lifecycle.ts'
import type { ClaimRef, Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { pick, randomStep } from '../../src/testing/store-suite/model-step.ts'
import { doStep } from '../../src/testing/store-suite/model-verbs.ts'
import { ModelWorld } from '../../src/testing/store-suite/model-world.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'

const kinds = ['mail', 'report', 'report\t2']
const ends = { result: null, error: null, attempt: null, settings: null, tasks: null, reason: null } as const

/** Several callers that do random things to one database at once, each through a separate store. */
export class Storm {
  /** The holder of each turn: there is only one. */
  readonly #given = new Map<string, string>()
  readonly #ids: string[] = []
  readonly #clock: ManualClock
  readonly #stores: readonly Store[]
  /** Broken invariants, as far as callers can see them. */
  readonly faults: string[] = []
  /** How often a call was refused, by its error code. */
  readonly refusals: Record<string, number> = {}

  constructor(stores: readonly Store[], clock: ManualClock) {
    this.#stores = stores
    this.#clock = clock
  }

  async rage(seed: number, steps: number): Promise<void> {
    await Promise.all(this.#stores.map((store, at) => this.#act(store, seededRandom(seed * 100 + at), steps)))
  }

  async #act(store: Store, random: () => number, steps: number): Promise<void> {
    const world = new StormWorld(store, this.#clock, random, this.#ids, (code) => {
      this.refusals[code] = (this.refusals[code] ?? 0) + 1
    })
    for (let count = 0; count < steps; count++) {
      const step = randomStep(random)
      // A clock that is moved by hand waits for all calls to be over, and here there are always some.
      if (step.verb === 'pass') this.#clock.jump(pick([1, 200, 500, 1000, 3000, 5000, 15_001, -2000], step.a))
      else await doStep[step.verb](world, step)
      this.#noteGiven(world)
    }
  }

  #noteGiven({ claims }: StormWorld): void {
    for (const claim of claims) {
      for (const { id, turn } of claim.members) {
        const given = this.#given.get(`${id} ${turn}`) ?? claim.id
        // A planned instant that was given back before it began may be taken back, and planned again under its id.
        const isPlanned = id[14] === '5'
        if (given !== claim.id && !isPlanned) this.faults.push(`turn ${turn} of ${id} was given to ${given} and to ${claim.id}`)
        this.#given.set(`${id} ${turn}`, given)
      }
    }
  }

  /** Nothing happens any more but what lets everything come to its end; what has none then is a fault. */
  async calm(): Promise<void> {
    const [store] = this.#stores as [Store]
    this.#clock.jump(3_600_000)
    for (const { tenant, job, to } of await store.readPauses({}))
      if (to === null || to > this.#clock.wall()) await store.pause({ tenant, job, open: null })
    const boot = randomUUID()
    const node = { boot, name: 'calm', pid: 1, concurrency: 1, kinds, version: '', tz: '', ttlMs: 1e12 }
    const beat = { claims: [], inFlight: [], long: [], phase: 'join' } as const
    await store.beat({ ...beat, node: { ...node, release: null, declares: {}, picks: false, isDraining: false, parts: {} } })
    await this.#rescueAll(store, boot)
    for (let looks = 0; looks < 5000; looks++) {
      await dropStranded(store)
      const claim = { id: randomUUID(), token: randomUUID() }
      const { members, passed, nextDue } = await store.claim({ ...claim, node: boot, kinds, limit: 100 })
      const end = { ...ends, end: 'completed', startedAt: this.#clock.wall(), endedAt: this.#clock.wall() } as const
      const items = members.map((member) => ({ claim, member, end, attempts: [], delayMs: 0 }))
      for (const answer of (await store.settle(items, { done: [claim] })).items)
        if (answer !== 'ok') this.faults.push('a calm settle was refused')
      if (members.length + passed.length > 0) continue
      if (nextDue === null) break
      this.#clock.jump(Math.max(1, nextDue - this.#clock.wall()))
    }
    const { states } = await store.counts({})
    for (const [state, count] of Object.entries(states))
      if (count !== 0 && state !== 'dead' && !isEnd(state as OccurrenceState)) this.faults.push(`${count} are ${state} for ever`)
  }

  /** All that has ended is pruned. */
  async forget(): Promise<void> {
    const [store] = this.#stores as [Store]
    const all = { endedBefore: Number.MAX_SAFE_INTEGER, keyRetentionMs: 0, limit: 1000 }
    const { openHooks } = await store.rescue({ gone: [], ...patient, kinds, limit: 100_000 })
    await store.settle([], { hooksDone: openHooks.map(({ ref }) => ref) })
    while ((await store.prune(all)).pruned > 0);
  }

  async #rescueAll(store: Store, own: string): Promise<void> {
    for (;;) {
      const { nodes } = await store.nodes()
      const gone = nodes.filter(({ boot }) => boot !== own).map(({ boot, beats }) => ({ boot, beats }))
      const { more, removed } = await store.rescue({ gone, ...patient, limit: 100 })
      if (!more && removed.length === gone.length) return
      if (!more && removed.length === 0) return void this.faults.push(`${gone.length} nodes could not be removed`)
    }
  }
}

const patient = { settings: { retry: { intervalMs: 0, max: 9 } }, mostRecoveries: 6, kinds: [], hookMs: 0 }

async function dropStranded(store: Store): Promise<void> {
  const { jobs, pauseRevision } = await store.jobsToPlan({ horizonMs: 0, limit: 100 })
  const none = { pauseRevision, tz: '', nextAt: null, rows: [], ranges: [], revive: [] }
  await store.plan(
    jobs.map(({ job: { tenant, name, version, cursor }, stranded }) => {
      const drop = stranded.map((at) => ({ at, state: 'missed', reason: 'downtime' }) as const)
      return { ...none, tenant, job: name, version, cursor, through: cursor, drop }
    }),
  )
}

/** A caller of one store that compares with no other. */
class StormWorld extends ModelWorld {
  override readonly ids: string[]
  override readonly boots: string[] = [randomUUID(), randomUUID()]
  readonly #store: Store
  readonly #random: () => number
  readonly #onRefusal: (code: string) => void

  constructor(store: Store, clock: ManualClock, random: () => number, ids: string[], onRefusal: (code: string) => void) {
    super(store, store, clock)
    this.ids = ids
    this.#store = store
    this.#random = random
    this.#onRefusal = onRefusal
  }

  override newId(): string {
    return uuidV7(this.now, (bytes) => Uint8Array.from({ length: bytes }, () => this.#random() * 256))
  }

  override newClaim(): ClaimRef {
    return { id: randomUUID(), token: randomUUID() }
  }

  override restart(boot: string): void {
    this.boots[this.boots.indexOf(boot)] = randomUUID()
  }

  override async both<Answer>(
    say: (store: Store, side: 'subject' | 'reference') => Promise<Answer>,
    show: (answer: Answer, side: 'subject' | 'reference') => unknown = () => {},
  ): Promise<Answer | null> {
    for (;;) {
      try {
        const answer = await say(this.#store, 'subject')
        show(answer, 'subject')
        return answer
      } catch (error) {
        if (!(error instanceof PunctualError)) throw error
        this.#onRefusal(error.code)
        if (error.code !== 'store.busy') return null
      }
    }
  }
}
