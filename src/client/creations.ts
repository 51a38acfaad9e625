import { Batcher } from '../engine/record/batcher.ts'
import { PunctualError } from '../errors.ts'
import type { AuditNote, CreatedRow, NewOccurrence } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'

/** The longest wait for an open transaction that blocks a creation. */
const patienceMs = 10_000
/** So many calls of one caller are under way at once. */
const callsAtOnce = 2

/**
 * Creates occurrences; calls of the same moment share one call to the store. Rows that an open transaction blocks leave the shared
 * calls and are tried alone, one after the other, so no caller waits for the locks of another.
 */
export class Creations {
  readonly #env: ClientEnv
  readonly #calls: Batcher<NewOccurrence, CreatedRow | null>
  #lane: Promise<unknown> = Promise.resolve()

  constructor(env: ClientEnv) {
    this.#env = env
    this.#calls = new Batcher(
      env.clock,
      () => env.store.batchLimit,
      async (rows) => (await this.#tried(rows)) ?? rows.map(() => null),
    )
  }

  async add(row: NewOccurrence): Promise<CreatedRow> {
    return (await this.#calls.add(row)) ?? this.#alone(row)
  }

  /** Creates one row in a separate call, with its audit row. */
  async addAudited(row: NewOccurrence, audit: AuditNote): Promise<CreatedRow> {
    const [answer] = await this.#insist(() => this.#tried([row], audit))
    return answer as CreatedRow
  }

  /** Those of one caller, in as few calls as the store's limit allows, and in the caller's transaction when there is one. */
  async addAll(rows: readonly NewOccurrence[], tx?: unknown): Promise<CreatedRow[]> {
    const { store } = this.#env
    // Of the same key the first counts. Rows without a key are prepared while the store inserts the rows before.
    const hasOrder = tx !== undefined || rows.some(({ key }) => key !== null)
    const atOnce = hasOrder ? 1 : callsAtOnce
    const chunks = chunksOf(rows, store.batchLimit, atOnce)
    const answers: (readonly CreatedRow[])[] = []
    let next = 0
    const createInTurn = async () => {
      while (next < chunks.length) {
        const at = next++
        const chunk = chunks[at] as NewOccurrence[]
        try {
          // In the caller's transaction nothing may fail: the store waits for as long as the caller does.
          answers[at] = await (tx ? store.create(chunk, { tx }).then(({ rows }) => rows) : this.#insist(() => this.#tried(chunk)))
        } catch (error) {
          next = chunks.length
          throw error
        }
      }
    }
    const turns = await Promise.allSettled(Array.from({ length: atOnce }, createInTurn))
    // A failure is reported when no call is under way any more.
    const failed = turns.find((turn) => turn.status === 'rejected')
    if (failed) throw failed.reason
    return answers.flat()
  }

  async #alone(row: NewOccurrence): Promise<CreatedRow> {
    const [answer] = await this.#insist(() => {
      const tried = this.#lane.then(() => this.#tried([row]))
      this.#lane = tried.catch(() => {})
      return tried
    })
    return answer as CreatedRow
  }

  async #insist(attempt: () => Promise<readonly CreatedRow[] | null>): Promise<readonly CreatedRow[]> {
    const { clock } = this.#env
    const until = clock.mono() + patienceMs
    for (;;) {
      const answers = await attempt()
      if (answers) return answers
      if (clock.mono() >= until)
        throw new PunctualError(
          'store.busy',
          'An open transaction holds what stands in the way of new work; end it, or try again',
        )
    }
  }

  /** Null when another transaction has blocked the store for too long. */
  async #tried(rows: readonly NewOccurrence[], audit?: AuditNote): Promise<readonly CreatedRow[] | null> {
    const { store, joinedClaims } = this.#env
    // Locks are taken in one order: the node of a claim before the claims of makers.
    const joined = audit || rows.some(({ maker }) => maker) ? null : joinedClaims.claimWithCreate(rows)
    try {
      const { rows: answers, claimed } = await store.create(rows, joined ? { claim: joined.request } : audit ? { audit } : {})
      joined?.taken(claimed)
      this.#announce(rows, answers)
      return answers
    } catch (error) {
      joined?.failed(error)
      if (error instanceof PunctualError && error.details.isHeld === true) return null
      throw error
    }
  }

  #announce(rows: readonly NewOccurrence[], answers: readonly CreatedRow[]): void {
    const { events } = this.#env
    if (!events.has('occurrence.created')) return
    rows.forEach(({ tenant, job, key, source }, at) => {
      const answer = answers[at]
      if (answer?.outcome === 'created') events.emit('occurrence.created', { id: answer.id, tenant, job, key, source })
    })
  }
}

/** As few as the limit allows, but of one size, and where several go at once so many that none is left to go alone. */
function chunksOf(rows: readonly NewOccurrence[], limit: number, atOnce: number): NewOccurrence[][] {
  const fewest = Math.ceil(rows.length / limit)
  const count = fewest > 1 ? Math.ceil(fewest / atOnce) * atOnce : fewest
  const size = Math.ceil(rows.length / count)
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, at) => rows.slice(at * size, (at + 1) * size))
}
