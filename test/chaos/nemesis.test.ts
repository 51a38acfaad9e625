import { describe, expect, it } from 'vitest'
import type { Occurrence } from '../../src/client/occurrence-view.ts'
import type { Punctual } from '../../src/client/punctual.ts'
import type { Context } from '../../src/model/context.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { sleep } from '../../src/time/clock.ts'
import { type Cluster, type Node, newCluster, occurrence } from '../support/cluster.ts'
import { type Connect, inFile, inMemory } from '../support/each-store.ts'

/** One node and what the nemesis has done to it. */
interface Victim extends Node {
  isCrashed: boolean
  cutUntil: number
}

/** What runs somewhere right now. */
interface Running {
  readonly by: Victim
  readonly signal: AbortSignal
}

const verbs = ['claim', 'settle', 'checkpoint', 'beat', 'plan', 'rescue', 'nodes', 'create'] as const

/** A cluster under a nemesis: nodes are cut off, crash, stop and come back, and answers are lost. Notes what must never happen. */
class Siege {
  readonly cluster: Cluster
  readonly faults: string[] = []
  readonly created = new Set<string>()
  readonly #random: () => number
  readonly #victims: Victim[] = []
  readonly #running = new Map<string, Running>()

  constructor(seed: number, connect: Connect) {
    this.cluster = newCluster({ connect })
    this.#random = seededRandom(seed)
  }

  async run(steps: number): Promise<void> {
    for (let count = 0; count < 3; count++) await this.#join()
    for (let step = 0; step < steps; step++) await this.#step()
  }

  /** Everything heals, and has time to recover. */
  async calm(): Promise<Node> {
    for (const victim of this.#victims) if (!victim.isCrashed) victim.store.heal()
    await this.#join()
    await this.cluster.pass(180)
    return this.#victims.at(-1) as Victim
  }

  async #step(): Promise<void> {
    const { clock } = this.cluster
    for (const victim of this.#victims) if (!victim.isCrashed && victim.cutUntil <= clock.mono()) victim.store.heal()
    const living = this.#victims.filter((victim) => !victim.isCrashed)
    const victim = living[this.#below(living.length)] as Victim
    const dice = this.#below(20)
    if (dice < 6) await this.#enqueue(victim)
    else if (dice < 9) this.#cut(victim)
    else if (dice < 13) victim.store.loseAnswer(verbs[this.#below(verbs.length)] as (typeof verbs)[number])
    else if (dice < 14) await this.#crash(victim)
    else if (dice < 15) await this.#restart(victim)
    await clock.advance(this.#below(4000))
  }

  #cut(victim: Victim): void {
    victim.store.cut()
    victim.cutUntil = this.cluster.clock.mono() + this.#below(40_000)
  }

  async #crash(victim: Victim): Promise<void> {
    victim.store.freeze()
    victim.isCrashed = true
    await this.#join()
  }

  async #restart(victim: Victim): Promise<void> {
    if (victim.cutUntil > this.cluster.clock.mono()) return
    const stopped = victim.punctual.stop({ grace: '3s' })
    await this.cluster.clock.advance('10s')
    await stopped
    await victim.punctual.start()
  }

  async #join(): Promise<void> {
    const victim: Victim = Object.assign(this.cluster.client({ jobs: this.#jobs(() => victim), concurrency: 3 }), {
      isCrashed: false,
      cutUntil: 0,
    })
    this.#victims.push(victim)
    await victim.punctual.start()
  }

  async #enqueue({ punctual }: Victim): Promise<void> {
    const jobs = ['one', 'many']
    const requests = Array.from({ length: 1 + this.#below(4) }, (_, at) => ({
      job: jobs[this.#below(2)] as string,
      key: `${this.created.size}-${at}`,
      delay: this.#below(5000),
    }))
    const answers = await punctual.enqueueMany(requests).catch(() => [])
    for (const { id } of answers) this.created.add(id)
  }

  #jobs(by: () => Victim) {
    const work = (ctx: Context<unknown, object>) => this.#work(by(), ctx)
    const retry = { max: 50, interval: 500, factor: 1 }
    return [
      defineJob('one', { retry }).task('only', work),
      defineJob('many', { retry, mode: 'graph' })
        .task('a', work)
        .task('b', work)
        .task('c', { after: ['a', 'b'] }, work),
      defineJob('tick', { schedule: interval('PT7S'), overlap: 'allow', retry }).task('only', work),
    ]
  }

  /** A handler that takes a while, fails now and then, and stops at its signal. */
  async #work(by: Victim, { occurrenceId, task, scheduledAt, signal }: Context<unknown, object>): Promise<string> {
    const key = `${occurrenceId} ${task}`
    const other = this.#running.get(key)
    if (other && other.by !== by && !other.by.isCrashed && !other.signal.aborted)
      this.faults.push(`${key} runs on two nodes at once`)
    if (scheduledAt.getTime() > this.cluster.clock.wall()) this.faults.push(`${key} started early`)
    const mine = { by, signal }
    this.#running.set(key, mine)
    await sleep(this.cluster.clock, this.#below(this.#below(4) === 0 ? 40_000 : 3000), signal)
    if (this.#running.get(key) === mine) this.#running.delete(key)
    if (signal.aborted) throw signal.reason
    if (this.#below(10) === 0) throw new Error('now and then')
    return 'done'
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }
}

const seeds = Number(process.env.SEEDS ?? 8)
const first = Number(process.env.SEED ?? 1)

describe.each([
  ['memory', inMemory, seeds],
  ['sqlite', inFile, Math.ceil(seeds / 8)],
] as const)('a cluster under cuts, crashes, restarts and lost answers (%s)', (_, newDatabase, count) => {
  it.each(seedsFrom(first, count))('ends every occurrence once, and runs none on two nodes at once (seed %i)', async (seed) => {
    const siege = new Siege(seed, newDatabase())
    await siege.run(120)
    const { punctual } = await siege.calm()
    expect(siege.faults).toEqual([])
    for (const found of await all(punctual)) {
      siege.created.delete(found.id)
      if (found.job === 'tick' && found.scheduledAt.getTime() > siege.cluster.clock.wall() - 150_000) continue
      const losses = found.turns.filter((turn) => turn.end === 'lost' || turn.reason === 'lost').length
      if (found.state === 'dead' && losses === 3) continue
      expect([found.id, found.state]).toEqual([found.id, 'completed'])
      expect(found.turns.filter((turn) => turn.end === 'completed')).toHaveLength(1)
      for (const { attempts } of found.tasks) {
        expect(attempts.filter((attempt) => attempt.state === 'succeeded')).toHaveLength(1)
        expect(attempts.at(-1)?.state).toBe('succeeded')
      }
    }
    expect([...siege.created]).toEqual([])
  })
})

function seedsFrom(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, at) => start + at)
}

async function all(punctual: Punctual): Promise<Occurrence[]> {
  const found: Occurrence[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Punctual['list']>> = await punctual.list({ limit: 500, ...(cursor !== null && { cursor }) })
    for (const { id } of page.items) found.push(await occurrence(punctual, id))
    cursor = page.cursor
  } while (cursor !== null)
  return found
}
