// Connections, statements and transactions. All that is known of the driver is here and in listen.ts.
import pg from 'pg'
import { PunctualError } from '../../errors.ts'
import { sleep, systemClock } from '../../time/clock.ts'
import { DeadlineError, isAway, isConflict, storeFailure } from './failure.ts'
import { inSchema } from './schema.ts'

/** What runs statements: a connection of ours, or a transaction of the caller's. Rows are arrays in the order of the columns. */
export interface Session {
  all<Row extends readonly unknown[]>(sql: string, values?: readonly unknown[]): Promise<Row[]>
  /** Keys that an earlier try of the same transaction turned out to need. Undefined where a transaction is not tried again. */
  readonly neededKeys?: Set<string>
}

/** The part of a caller's client that is needed to take part in its transaction. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>
}

export type Source = string | pg.Pool

const callMs = 10_000
const connectMs = 5_000
const mostConnections = 8
const mostTries = 10

// Handles and counts fit into a number; the driver would give texts.
const parsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === 20) return Number
    if (oid === 1016) return (text: string) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))
    return pg.types.getTypeParser(oid, format as 'text')
  }) as typeof pg.types.getTypeParser,
}

export class Database {
  readonly schema: string
  readonly #pool: pg.Pool
  readonly #isOwn: boolean
  readonly #prepare: boolean
  /** Spreads the tries of those that were in each other's way. */
  readonly #random: () => number
  readonly #texts = new Map<string, { readonly text: string; readonly name: string }>()

  constructor(
    source: Source,
    { schema, prepare, random = () => 0.5 }: { schema: string; prepare: boolean; random?: () => number },
  ) {
    this.#random = random
    this.schema = schema
    this.#prepare = prepare
    this.#isOwn = typeof source === 'string'
    this.#pool =
      typeof source === 'string'
        ? new pg.Pool({
            connectionString: source,
            max: mostConnections,
            connectionTimeoutMillis: connectMs,
            keepAlive: true,
            application_name: 'punctual',
            pipeline: true,
            // To compile a statement, or to plan it anew for each set of values, takes longer than to run it: what is read and
            // written here goes by keys, whatever the values. Poolers refuse to be told.
            ...(prepare && { options: '-c jit=off -c plan_cache_mode=force_generic_plan' }),
          } as pg.PoolConfig)
        : source
    // An idle connection that breaks is replaced when it is next needed; without a listener it would end the process.
    if (this.#isOwn) this.#pool.on('error', () => {})
  }

  /** How another connection to the same server is made. */
  get connectionOptions(): pg.ClientConfig {
    return this.#pool.options
  }

  /** One statement, which is a commit of its own. */
  async all<Row extends readonly unknown[]>(sql: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#insist((session) => session.all<Row>(sql, values))
  }

  /** Runs `act` in one commit, or changes nothing; it is run again after a conflict with another transaction. */
  async transaction<Answer>(act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#between('BEGIN', act)
  }

  /** Runs `act` on one state of the database. */
  async snapshot<Answer>(act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#between('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', act)
  }

  /**
   * Runs work that nobody can say how long it takes, such as a handler's own, in one commit. It is never run again by itself, and
   * has no deadline but its caller's.
   */
  async work<Answer>(act: (session: Session, client: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
    try {
      return await this.#attempt((session, client) => inTransaction('BEGIN', session, client, act), Number.POSITIVE_INFINITY)
    } catch (error) {
      throw storeFailure(error)
    }
  }

  async #between<Answer>(begin: string, act: (session: Session) => Promise<Answer>): Promise<Answer> {
    return this.#insist((session, client) => inTransaction(begin, session, client, act))
  }

  /** A session on a transaction that the caller has begun and will end. */
  joined(client: Queryable): Session {
    // One after the other: not every client takes the next statement before it has answered the last.
    let last: Promise<unknown> = Promise.resolve()
    return {
      all: async <Row extends readonly unknown[]>(sql: string, values: readonly unknown[] = []) => {
        const answer = last.then(() => client.query(this.#text(sql).text, [...values]))
        last = answer.catch(() => {})
        const { rows } = await answer
        return rows.map((row) => (Array.isArray(row) ? row : Object.values(row as object))) as unknown as Row[]
      },
    }
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#pool.end()
  }

  async #insist<Answer>(act: (session: Session, client: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
    const neededKeys = new Set<string>()
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt((session, client) => act({ ...session, neededKeys }, client))
      } catch (error) {
        if (!isConflict(error) || tries >= mostTries) throw storeFailure(error)
        await sleep(systemClock, tries * 5 * this.#random())
      }
    }
  }

  async #attempt<Answer>(
    act: (session: Session, client: pg.PoolClient) => Promise<Answer>,
    deadlineMs = callMs,
  ): Promise<Answer> {
    const client = await this.#pool.connect()
    let failure: unknown
    let isOver = false
    try {
      return await withDeadline(
        act(
          this.#session(client, () => isOver),
          client,
        ),
        deadlineMs,
      )
    } catch (error) {
      failure = error
      throw error
    } finally {
      isOver = true
      // A connection in an unknown state is thrown away.
      client.release(failure !== undefined && isAway(failure))
    }
  }

  #session(client: pg.PoolClient, isOver: () => boolean): Session {
    return {
      all: async <Row extends readonly unknown[]>(sql: string, values: readonly unknown[] = []) => {
        if (isOver()) throw new PunctualError('store.unreachable', 'The call was given up meanwhile')
        const query = { ...this.#text(sql), values: values as unknown[], rowMode: 'array' as const, types: parsers }
        const { rows } = await client.query(query)
        return rows as unknown as Row[]
      },
    }
  }

  #text(sql: string): { readonly text: string; readonly name?: string } {
    let known = this.#texts.get(sql)
    if (!known) {
      known = { text: inSchema(sql, `"${this.schema}"`), name: `punctual_${this.schema}_${this.#texts.size}` }
      this.#texts.set(sql, known)
    }
    return this.#prepare && !isSaidOnce.test(sql) ? known : { text: known.text }
  }
}

/** Statements that are not worth a name. */
const isSaidOnce = /^\s*(BEGIN|COMMIT|SET|SAVEPOINT|RELEASE|CREATE|ALTER|DROP)/

async function inTransaction<Answer>(
  begin: string,
  session: Session,
  client: pg.PoolClient,
  act: (session: Session, client: pg.PoolClient) => Promise<Answer>,
): Promise<Answer> {
  // The connection answers in order, so that nothing has to wait for the answer to BEGIN.
  const begun = session.all(begin)
  begun.catch(() => {})
  try {
    const answer = await act(session, client)
    await session.all('COMMIT')
    await begun
    return answer
  } catch (error) {
    if (!isAway(error)) await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

function withDeadline<Answer>(call: Promise<Answer>, ms: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const cancel = systemClock.timer(ms, () => reject(new DeadlineError(ms)))
    call.then(resolve, reject).finally(cancel)
  })
}
