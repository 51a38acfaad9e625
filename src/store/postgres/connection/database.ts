// Connections, statements and transactions. All that is known of the driver is here, in pools.ts and in listen.ts.
import pg from 'pg'
import { PunctualError } from '../../../errors.ts'
import { sleep, systemClock } from '../../../time/clock.ts'
import type { Queryable } from '../../store.ts'
import { inSchema } from '../schema/tables.ts'
import { joined } from './caller-transaction.ts'
import { isAway, isConflict, isFull, storeFailure, withDeadline } from './failure.ts'
import { makePools, type Pools, type Source } from './pools.ts'
import { inTurn, type Session, type Statement } from './session.ts'
import { begin, beginSnapshot, type Held, inBatch, inTransaction } from './transaction.ts'

export type { Source } from './pools.ts'
export type { Session } from './session.ts'

const callMs = 10_000
const mostTries = 10
const fullMs = 10

// Handles and counts fit into a number; the driver would give texts.
const parsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === 20) return Number
    if (oid === 1016) return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))
    return pg.types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
}

interface DatabaseOptions {
  readonly schema: string
  readonly prepare: boolean
  /** Spreads the tries of those that were in each other's way. */
  readonly random?: () => number
  /** Gets the calls of `work`, call by call, since the duration of the whole is unknown. */
  readonly onCall?: (call: Promise<unknown>) => void
  /** Is called when a connection was lost: the next may lead to another server, which need not know all that this one did. */
  readonly onLoss?: () => void
}

/** The means of work without a deadline. */
export interface WorkMeans {
  readonly session: Session
  readonly client: pg.PoolClient
  /** Rejects when the store is closed meanwhile. */
  readonly cut: Promise<never>
  readonly onCall: (call: Promise<unknown>) => void
}

interface WorkOptions<Answer> {
  /** Takes a connection of those for handlers, so the verbs never wait for it. */
  readonly isHandlers?: boolean
  /** How long one statement of the session may take. Default: as long as it likes. */
  readonly statementMs?: number
  /** Whether the answer means that what was done is to stay. Default: always. */
  readonly isKept?: (answer: Answer) => boolean
}

export class Database {
  readonly schema: string
  readonly #pools: Pools
  readonly #prepare: boolean
  readonly #random: () => number
  readonly #onCall: (call: Promise<unknown>) => void
  readonly #texts = new Map<string, { readonly text: string; readonly name: string }>()
  readonly #cuts = new Set<(error: unknown) => void>()
  readonly #onLoss: () => void
  readonly #heeded = new WeakSet<pg.PoolClient>()
  #losses = 0

  constructor(source: Source, { schema, prepare, random = () => 0.5, onCall = () => {}, onLoss = () => {} }: DatabaseOptions) {
    this.schema = schema
    this.#prepare = prepare
    this.#random = random
    this.#onCall = onCall
    this.#onLoss = onLoss
    this.#pools = makePools(source, { prepare })
  }

  /** How another connection to the same server is made. */
  get connectionOptions(): pg.ClientConfig {
    return this.#pools.verbs.options
  }

  /** One statement in its own commit. */
  async rows<Row extends object>(sql: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#insist(this.#pools.verbs, ({ session }) => session.rows<Row>(sql, values))
  }

  /**
   * Opens connections and has each plan these statements, which must change nothing. The first use of a statement takes longer than
   * all that follow together.
   */
  async warmUp(connections: number, statements: readonly Statement[]): Promise<void> {
    const { verbs, own } = this.#pools
    if (!this.#prepare || !own.includes(verbs)) return
    const runAll = ({ session }: Held) => Promise.all(statements.map(({ sql, values }) => session.rows(sql, values)))
    await Promise.all(Array.from({ length: connections }, () => this.#attempt(verbs, runAll, callMs)))
  }

  /**
   * The same on a connection that no caller can hold. Code inside a caller's transaction must not wait for a second connection
   * from the caller's pool: others that wait for the same may hold all of them.
   */
  readonly apart: Session = {
    rows: (sql, values) => this.#insist(this.#pools.apart, ({ session }) => session.rows(sql, values)),
  }

  /** Runs `act` in one commit, or changes nothing; it is run again after a conflict with another transaction. */
  async transaction<Answer>(act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#insist(this.#pools.verbs, (held) => inTransaction(begin, held, act))
  }

  /**
   * Statements that need no answer of each other, in one commit that is sent along with them: locks are held for no round trip. When
   * one fails, all are undone. `act` sends them all at once.
   */
  async batch<Answer>(act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#insist(this.#pools.verbs, (held) => inBatch(held, act))
  }

  /** Runs `act` on one state of the database. */
  async snapshot<Answer>(act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#insist(this.#pools.verbs, (held) => inTransaction(beginSnapshot, held, act))
  }

  /**
   * Runs work without a deadline, such as a handler's, in one commit. It is never repeated, and
   * has no deadline but its caller's.
   */
  async work<Answer>(
    act: (means: WorkMeans) => Promise<Answer>,
    { isHandlers = false, statementMs = Number.POSITIVE_INFINITY, isKept }: WorkOptions<Answer> = {},
  ): Promise<Answer> {
    const { promise: cut, reject } = Promise.withResolvers<never>()
    cut.catch(() => {})
    this.#cuts.add(reject)
    const onCall = this.#onCall
    const working = (held: Held) => {
      const { session: bare } = held
      const session: Session = {
        rows: (sql, values) => noted(withDeadline(bare.rows(sql, values), statementMs), onCall),
      }
      const means = { session, client: held.client, cut, onCall }
      return inTransaction(begin, Object.assign(held, { session }), () => act(means), isKept)
    }
    try {
      return await this.#attempt(isHandlers ? this.#pools.works : this.#pools.apart, working, Number.POSITIVE_INFINITY)
    } catch (error) {
      throw storeFailure(error)
    } finally {
      this.#cuts.delete(reject)
    }
  }

  /** A session on a transaction that the caller has begun and will end. */
  joined(tx: Queryable): Session {
    return joined(tx, (sql) => this.#text(sql).text)
  }

  async close(): Promise<void> {
    for (const cut of this.#cuts) cut(new PunctualError('store.closed', 'The PostgreSQL store was closed meanwhile'))
    await Promise.all(this.#pools.own.map((pool) => pool.end()))
  }

  async #insist<Answer>(pool: pg.Pool, act: (held: Held) => Promise<Answer>): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt(pool, act, callMs)
      } catch (error) {
        if (!isConflict(error) || tries >= mostTries) throw storeFailure(error)
        await sleep(systemClock, tries * 5 * this.#random())
      }
    }
  }

  async #attempt<Answer>(pool: pg.Pool, act: (held: Held) => Promise<Answer>, deadlineMs: number): Promise<Answer> {
    const losses = this.#losses
    const client = await noted(connected(pool), this.#onCall)
    this.#heed(client)
    let isOver = false
    const held: Held = { client, session: this.#session(client, () => isOver), isBroken: false }
    try {
      // The statement is made of what was read from the server before, and this may be another.
      if (losses !== this.#losses)
        throw new PunctualError('store.unreachable', 'PostgreSQL: connections were lost while this call waited for one')
      return await withDeadline(act(held), deadlineMs)
    } catch (error) {
      this.#noteFailure(held, error)
      throw error
    } finally {
      isOver = true
      client.release(held.isBroken)
    }
  }

  #noteFailure(held: Held, error: unknown): void {
    if (!isAway(error)) return
    held.isBroken = true
    this.#lose()
  }

  /** A connection that breaks also emits an event, idle or not, which would end the process without a listener. */
  #heed(client: pg.PoolClient): void {
    if (this.#heeded.has(client)) return
    this.#heeded.add(client)
    client.on('error', () => this.#lose())
  }

  #lose(): void {
    this.#losses += 1
    this.#onLoss()
  }

  #session(client: pg.PoolClient, isOver: () => boolean): Session {
    const rows = async <Row>(sql: string, values: readonly unknown[] = []) => {
      if (isOver()) throw new PunctualError('store.unreachable', 'The call was given up meanwhile')
      const answer = await client.query({ ...this.#text(sql), values: values as unknown[], types: parsers })
      return answer.rows as Row[]
    }
    const session: Session = { rows }
    return isPipeline(client) ? session : inTurn(session)
  }

  #text(sql: string): { readonly text: string; readonly name?: string } {
    let known = this.#texts.get(sql)
    if (!known) {
      known = { text: inSchema(sql, `"${this.schema}"`), name: `punctual_${this.schema}_${this.#texts.size}` }
      this.#texts.set(sql, known)
    }
    return this.#prepare && !isNotPrepared.test(sql) ? known : { text: known.text }
  }
}

function isPipeline(client: pg.PoolClient): boolean {
  // The types of the driver leave it out.
  return (client as { pipeline?: boolean }).pipeline === true
}

/** Waits for one of the pool's connections if the server takes no more. */
async function connected(pool: pg.Pool): Promise<pg.PoolClient> {
  for (const until = systemClock.mono() + callMs; ; await sleep(systemClock, fullMs)) {
    try {
      return await pool.connect()
    } catch (error) {
      if (!isFull(error) || pool.totalCount === 0 || systemClock.mono() >= until) throw error
    }
  }
}

/** Statements that are not worth a name. */
const isNotPrepared = /^\s*(BEGIN|COMMIT|SET|SAVEPOINT|RELEASE|CREATE|ALTER|DROP)/

function noted<Answer>(call: Promise<Answer>, onCall: (call: Promise<unknown>) => void): Promise<Answer> {
  onCall(call)
  return call
}
