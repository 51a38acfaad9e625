import type { CheckpointItem, SettleItem, WriteAnswer } from '../store/store.ts'
import { sleep } from '../time/clock.ts'
import { Batcher } from './batcher.ts'
import type { Env } from './env.ts'
import type { Session } from './session.ts'
import { isTransient } from './transient.ts'

const longestWaitMs = 2000

/**
 * Brings what executions have to record to the store, many in one call and one call at a time. While the store is away it keeps
 * trying; a session that was cut off meanwhile has lost the right to write, and is told so.
 */
export class Recorder {
  readonly #env: Env
  readonly #session: () => Session
  readonly #settlements: Batcher<{ item: SettleItem; session: Session }, WriteAnswer>
  readonly #checkpoints: Batcher<{ item: CheckpointItem; session: Session }, WriteAnswer>

  constructor(env: Env, session: () => Session) {
    this.#env = env
    this.#session = session
    const limit = () => env.store.batchLimit
    this.#settlements = new Batcher(env.clock, limit, (batch) =>
      this.#insist(batch, (items, session) => this.#settle(items, session)),
    )
    this.#checkpoints = new Batcher(env.clock, limit, (batch) => this.#insist(batch, (items) => env.store.checkpoint(items)))
  }

  settle(item: SettleItem): Promise<WriteAnswer> {
    return this.#settlements.add({ item, session: this.#session() })
  }

  checkpoint(item: CheckpointItem): Promise<WriteAnswer> {
    return this.#checkpoints.add({ item, session: this.#session() })
  }

  /** Writes one item by itself, since what is done within its commit must not be repeated for the sake of others. */
  async commit(item: CheckpointItem): Promise<WriteAnswer> {
    const [answer] = await this.#insist([{ item, session: this.#session() }], (items) => this.#env.store.checkpoint(items))
    return answer as WriteAnswer
  }

  async #settle(items: readonly SettleItem[], session: Session): Promise<readonly WriteAnswer[]> {
    const answers = await this.#env.store.settle(items, session.lastOf(items))
    for (const { claim } of items) session.drop(claim.id)
    return answers
  }

  async #insist<Item>(
    batch: readonly { item: Item; session: Session }[],
    call: (items: readonly Item[], session: Session) => Promise<readonly WriteAnswer[]>,
  ): Promise<readonly WriteAnswer[]> {
    const session = this.#session()
    const current = batch.filter((one) => one.session === session)
    for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
      if (session.isFenced) return batch.map(() => 'lost')
      try {
        const answers = await call(
          current.map(({ item }) => item),
          session,
        )
        let at = 0
        return batch.map((one) => (one.session === session ? (answers[at++] as WriteAnswer) : 'lost'))
      } catch (error) {
        if (!isTransient(error)) throw error
        await sleep(this.#env.clock, waitMs)
      }
    }
  }
}
