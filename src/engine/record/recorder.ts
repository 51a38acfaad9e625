import type { CheckpointItem, SettleItem, WriteAnswer } from '../../store/store.ts'
import { sleep } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import type { Session } from '../node/session.ts'
import { isTransient } from '../node/transient.ts'
import { type Asker, Batcher } from './batcher.ts'

const longestWaitMs = 2000

/**
 * Writes the records of turns to the store, many in one call and one call at a time. While the store is away it keeps
 * trying. A session that was cut off meanwhile has lost the right to write: its calls return that.
 */
export class Recorder {
  readonly #env: Env
  readonly #session: () => Session
  #writer: SessionWriter

  constructor(env: Env, session: () => Session) {
    this.#env = env
    this.#session = session
    this.#writer = new SessionWriter(env, session())
  }

  settle(turn: SettleItem & Asker<WriteAnswer>): void {
    this.#current().settlements.addFor(turn, turn)
  }

  checkpoint(item: CheckpointItem): Promise<WriteAnswer> {
    return this.#current().checkpoints.add(item)
  }

  /** Removes the note of an end whose `onComplete` has run. */
  async hookDone(ref: number): Promise<void> {
    await this.#current().hooksDone.add(ref)
  }

  /** Writes one item by itself, since what is done within its commit must not be repeated for the sake of others. */
  async commit(item: CheckpointItem): Promise<WriteAnswer> {
    const [answer] = await this.#current().checkpoint([item])
    return answer as WriteAnswer
  }

  #current(): SessionWriter {
    const session = this.#session()
    if (this.#writer.session !== session) this.#writer = new SessionWriter(this.#env, session)
    return this.#writer
  }
}

/** The writes of one session. */
class SessionWriter {
  readonly #env: Env
  readonly session: Session
  readonly settlements: Batcher<SettleItem, WriteAnswer>
  readonly checkpoints: Batcher<CheckpointItem, WriteAnswer>
  readonly hooksDone: Batcher<number, WriteAnswer>

  constructor(env: Env, session: Session) {
    this.#env = env
    this.session = session
    const limit = () => env.store.batchLimit
    this.settlements = new Batcher(env.clock, limit, (items) => this.#settle(items))
    this.checkpoints = new Batcher(env.clock, limit, (items) => this.checkpoint(items))
    this.hooksDone = new Batcher(env.clock, limit, (refs) => this.#writeHooksDone(refs))
  }

  async checkpoint(items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]> {
    return (await this.#insist(() => this.#env.store.checkpoint(items))) ?? items.map(() => 'lost')
  }

  /** Writes ends, and lets the next claim travel with them. */
  async #settle(items: readonly SettleItem[]): Promise<readonly WriteAnswer[]> {
    const { store, joinedClaims } = this.#env
    const joined = joinedClaims.claimAfterSettle(items)
    const options = { done: this.session.lastOf(items), ...(joined && { claim: joined.request }) }
    try {
      const answer = await this.#insist(() => store.settle(items, options))
      for (const { claim } of items) this.session.drop(claim.id)
      joined?.taken(answer?.claimed ?? null)
      return answer?.items ?? items.map(() => 'lost')
    } catch (error) {
      joined?.failed(error)
      throw error
    }
  }

  async #writeHooksDone(refs: readonly number[]): Promise<readonly WriteAnswer[]> {
    await this.#insist(() => this.#env.store.settle([], { hooksDone: refs }))
    return refs.map(() => 'ok')
  }

  /** Null when the session was cut off before the store has answered. */
  async #insist<Answer>(call: () => Promise<Answer>): Promise<Answer | null> {
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      if (this.session.isFenced) return null
      try {
        return await call()
      } catch (error) {
        if (!isTransient(error)) throw error
        await sleep(this.#env.clock, waitMs, this.session.ended)
      }
    }
  }
}
