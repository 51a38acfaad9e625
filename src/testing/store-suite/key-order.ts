// Promises of the door that hold over any history: the order within a key is exact, and every key is free at the end.
import assert from 'node:assert/strict'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import type { ClaimMember, ClaimRef, Store } from '../../store/store.ts'
import { concurrency, overlap, rate } from './keys.ts'
import { pick } from './model-step.ts'
import { hour, minute, type Scene } from './scene.ts'
import { seededRandom } from './seeded-random.ts'
import { topic } from './topic.ts'

const seeds = 12
const steps = 120
const keys = ['a', 'b', 'c']

export const keyOrderCases = [
  ...topic('line', {
    ...Object.fromEntries(
      Array.from({ length: seeds }, (_, i) => [
        `under random work of seed ${i + 1} the order within a key is exact, all drains, and every key is free at the end`,
        (scene: Scene) => new RandomWork(scene, i + 1).run(),
      ]),
    ),
  }),
  ...topic(
    'line',
    {
      'F16 handles that contend for many keys start each key’s work in order, and leave every key free': async (scene) => {
        await contend(scene, { keys: 40, each: 6, handles: 4 })
      },
    },
    'many-processes',
  ),
]

interface Held {
  readonly claim: ClaimRef
  readonly node: string
  readonly left: ClaimMember[]
}

class RandomWork {
  readonly #scene: Scene
  readonly #random: () => number
  readonly #held: Held[] = []
  readonly #keyOf = new Map<string, string>()
  readonly #ranks = new Map<string, number>()
  #boots = ['node-1', 'node-2']
  #lastBoot = 2

  constructor(scene: Scene, seed: number) {
    this.#scene = scene
    this.#random = seededRandom(seed)
  }

  async run(): Promise<void> {
    for (const boot of this.#boots) await this.#scene.join(boot)
    for (let step = 0; step < steps; step++) await this.#step()
    await this.#drain()
    await assertFree(this.#scene)
  }

  #number(below: number): number {
    return Math.floor(this.#random() * below)
  }

  async #step(): Promise<void> {
    const roll = this.#number(20)
    if (roll < 7) await this.#create()
    else if (roll < 12) await this.#claim()
    else if (roll < 17) await this.#settle()
    else if (roll < 18) await this.#cancel()
    else if (roll < 19) await this.#scene.clock.advance(pick([1, 500, 3000], this.#number(3)))
    else await this.#loseNode()
    for (const boot of this.#boots) await this.#beat(boot)
  }

  #beat(boot: string) {
    const claims = this.#held.filter((held) => held.node === boot).map(({ claim }) => claim.id)
    return this.#scene.beat({ boot, claims })
  }

  async #create(): Promise<void> {
    const key = pick(keys, this.#number(3))
    const more = pick([[], overlap('queue', key), rate(3, 2000)], this.#number(3))
    const limits = [...more, ...concurrency(1, key)]
    const due = this.#scene.now - this.#number(3)
    const priority = pick([5, 5, 5, 0, 9], this.#number(5))
    const id = await this.#scene.create({ limits, due, priority })
    this.#ranks.set(id, priority)
    if (more.length === 0) this.#keyOf.set(id, key)
  }

  async #claim(): Promise<void> {
    const node = pick(this.#boots, this.#number(2))
    const idle = await this.#idle()
    const { claim, members } = await this.#scene.claim({ node, limit: 1 + this.#number(3) })
    this.#checkOrder(idle, members)
    if (members.length > 0) this.#held.push({ claim, node, left: [...members] })
  }

  async #idle(): Promise<readonly OccurrenceSummary[]> {
    const { items } = await this.#scene.store.list({ states: ['pending', 'waiting'], limit: 1000 })
    return items.filter(({ turn, startedAt }) => turn === 1 && startedAt === null)
  }

  /** Of work with this key alone none may start before another that was due and comes first. */
  #checkOrder(idle: readonly OccurrenceSummary[], members: readonly ClaimMember[]): void {
    const started = new Set(members.map(({ record }) => record.id))
    for (const { record, dueAt, turn } of members) {
      const key = this.#keyOf.get(record.id)
      if (key === undefined || turn > 1) continue
      const earlier = idle.filter(
        (other) =>
          this.#keyOf.get(other.id) === key &&
          !started.has(other.id) &&
          this.#isSameRank(other.id, record.id) &&
          other.dueAt < dueAt,
      )
      assert.deepEqual(earlier, [], `${record.id} overtook others in the line of ${key}`)
    }
  }

  #isSameRank(a: string, b: string): boolean {
    return this.#ranks.get(a) === this.#ranks.get(b)
  }

  async #settle(): Promise<void> {
    const held = pick(this.#held, this.#number(this.#held.length || 1))
    const member = held?.left.shift()
    if (!held || !member) return
    const { end, startedAt } = pick(
      [
        { end: 'completed', startedAt: this.#scene.now },
        { end: 'failed', startedAt: this.#scene.now },
        { end: 'parked', startedAt: this.#scene.now },
        { end: 'dead', startedAt: this.#scene.now },
        { end: 'released', startedAt: null },
        { end: 'released', startedAt: this.#scene.now },
      ] as const,
      this.#number(6),
    )
    const item = {
      claim: held.claim,
      member,
      end: this.#scene.end(end, { startedAt }),
      attempts: [],
      delayMs: pick([0, 500], this.#number(2)),
    }
    const done = held.left.length === 0 ? [held.claim] : []
    if (done.length > 0) this.#held.splice(this.#held.indexOf(held), 1)
    await this.#scene.store.settle([item], { done })
  }

  async #cancel(): Promise<void> {
    const { items } = await this.#scene.store.list({ states: ['pending', 'waiting', 'retrying', 'running'], limit: 100 })
    const one = pick(items, this.#number(items.length || 1))
    if (one) await this.#scene.store.cancel({ which: { id: one.id }, reason: null })
  }

  async #loseNode(): Promise<void> {
    const [lost, kept] = this.#boots as [string, string]
    await this.#scene.clock.advance(15_001)
    await this.#beat(kept)
    await this.#scene.rescue({ boot: lost, mostRecoveries: 5 })
    for (const held of [...this.#held]) if (held.node === lost) this.#held.splice(this.#held.indexOf(held), 1)
    const next = `node-${++this.#lastBoot}`
    this.#boots = [kept, next]
    await this.#scene.join(next)
  }

  async #drain(): Promise<void> {
    for (const { claim, left } of this.#held.splice(0))
      await this.#scene.settleAll(
        left.map((member) => ({ claim, member, end: this.#scene.end('completed'), attempts: [], delayMs: 0 })),
        [claim],
      )
    await this.#scene.clock.advance(hour)
    await this.#scene.join('last')
    await drain(this.#scene)
  }
}

/** Runs all that is left to its end. */
async function drain(scene: Scene): Promise<void> {
  for (let claims = 0; claims < 500; claims++) {
    const holding = await scene.claim({ node: 'last' })
    await scene.settleAll(
      holding.members.map((_, i) => scene.settleItem(holding, 'completed', i)),
      [holding.claim],
    )
    const { nextDue } = holding.answer
    if (holding.members.length > 0) continue
    if (nextDue === null) break
    await scene.clock.advance(Math.max(1, nextDue - scene.now))
    await scene.beat({ boot: 'last' })
  }
  const { states } = await scene.store.counts({})
  const { pending, waiting, running, retrying } = states
  assert.deepEqual({ pending, waiting, running, retrying }, { pending: 0, waiting: 0, running: 0, retrying: 0 })
}

/** Work that needs all the keys at once can start. */
async function assertFree(scene: Scene): Promise<void> {
  await scene.clock.advance(minute)
  await scene.beat({ boot: 'last' })
  const limits = keys.flatMap((key) => [...overlap('skip', key), ...concurrency(1, key)])
  const id = await scene.create({ limits: [...limits, ...rate(1, 2000)] })
  assert.deepEqual(await scene.claimedIds({ node: 'last' }), [id])
}

/** Handles take and end work of many keys at the same time, each key one at a time. */
async function contend(scene: Scene, options: { keys: number; each: number; handles: number }): Promise<void> {
  await scene.join()
  const names = Array.from({ length: options.keys }, (_, i) => `key-${i}`)
  const rows = Array.from({ length: options.each }, (_, i) =>
    names.map((name) => scene.row({ job: 'mail', entity: name, limits: concurrency(1, name), due: scene.now - 100 + i })),
  ).flat()
  await scene.store.create(rows)
  const starts = new Map<string, number[]>()
  const stores = [scene.store]
  while (stores.length < options.handles) stores.push(await scene.another())
  let left = rows.length
  const work = async (store: Store, at: number) => {
    let claim: ClaimRef = { id: `contend-${at}-0`, token: `t-${at}` }
    for (let n = 1; left > 0 && n < 2000; n++) {
      const { members } = await store.claim({ ...claim, node: 'node-1', kinds: ['mail'], limit: 1 + (n % 5) })
      for (const { record, dueAt } of members)
        starts.set(record.entity as string, [...(starts.get(record.entity as string) ?? []), dueAt])
      left -= members.length
      const end = scene.end('completed')
      const items = members.map((member) => ({ claim, member, end, attempts: [], delayMs: 0 }))
      if (items.length > 0) assert.ok((await store.settle(items, { done: [claim] })).items.every((answer) => answer === 'ok'))
      claim = { id: `contend-${at}-${n}`, token: `t-${at}` }
    }
  }
  await Promise.all(stores.map(work))
  assert.equal(left, 0, 'all has run')
  for (const [key, dues] of starts)
    assert.deepEqual(
      dues,
      dues.toSorted((a, b) => a - b),
      `the order within ${key}`,
    )
}
