import type { Client } from 'pg'
import type { Load } from '../harness/contestant.ts'

const dayMs = 86_400_000

/**
 * Fills Punctual's tables as so many calls of enqueue and so many runs would have, in a schema that holds one finished occurrence
 * and one that is due in a month: both are copied row by row in every table that they are in. Copied rows count with them.
 */
export async function fillHistory(client: Client, schema: string, counts: Load): Promise<void> {
  const filler = new Filler(client, schema)
  // In one transaction, for it to be the same now in all tables.
  await client.query('BEGIN')
  await filler.copyOf('ready', { count: counts.future - 1, state: 'pending', ...futureTimes })
  await filler.copyOf('turn', { count: counts.history - 1, state: 'completed', ...pastTimes(counts.history) })
  await client.query('COMMIT')
}

interface Copies extends Times {
  readonly count: number
  /** Where the copies stand, as the tallies call it. */
  readonly state: 'pending' | 'completed'
}

/** Milliseconds since the epoch as SQL of `copy_number`, from 1 on. */
interface Times {
  readonly createdAt: string
  readonly dueAt: string
}

const nowMs = 'floor(extract(epoch FROM now()) * 1000)'
const futureTimes: Times = {
  createdAt: `${nowMs} - ${2 * dayMs}`,
  // As good as at random, and the same in each table.
  dueAt: `${nowMs} + ${30 * dayMs} + (hashint8(copy_number) & 2147483647) % ${dayMs}`,
}

/** All of yesterday, one after the other. */
function pastTimes(count: number): Times {
  const at = `${nowMs} - ${2 * dayMs} + floor(copy_number * ${dayMs}::float8 / ${count})`
  return { createdAt: at, dueAt: at }
}

class Filler {
  readonly #client: Client
  readonly #schema: string

  constructor(client: Client, schema: string) {
    this.#client = client
    this.#schema = schema
  }

  /** Copies the occurrence that has the one row of `table`. */
  async copyOf(table: 'ready' | 'turn', { count, state, createdAt, dueAt }: Copies): Promise<void> {
    const [model] = await this.#rows<{ ref: string; series: number }>(`SELECT ref, series FROM ${this.#schema}.${table}`)
    if (!model) throw new Error(`There is nothing in ${this.#schema}.${table} to be copied`)
    const [last] = await this.#rows<{ ref: string }>(`SELECT max(ref) AS ref FROM ${this.#schema}.occurrence`)
    const own = {
      ref: `${last?.ref} + copy_number`,
      id: timeOrderedId(createdAt),
      created_at: createdAt,
      scheduled_at: dueAt,
      due_at: dueAt,
      started_at: dueAt,
      ended_at: `${dueAt} + 1`,
    }
    for (const one of ['occurrence', 'ready', 'turn', 'attempt']) await this.#copyRows(one, model.ref, count, own)
    await this.#rows(`SELECT setval(pg_get_serial_sequence($1, 'ref'), $2::bigint)`, [
      `${this.#schema}.occurrence`,
      Number(last?.ref) + count,
    ])
    await this.#rows(`INSERT INTO ${this.#schema}.tally (series, ${state}) VALUES ($1, $2)`, [model.series, count])
  }

  /** Columns that `own` does not name are as in the model. */
  async #copyRows(table: string, ref: string, count: number, own: Readonly<Record<string, string>>): Promise<void> {
    const columns = await this.#rows<{ name: string }>(
      `SELECT quote_ident(attname) AS name FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attidentity <> 'a'`,
      [`${this.#schema}.${table}`],
    )
    const names = columns.map(({ name }) => name)
    await this.#rows(
      `INSERT INTO ${this.#schema}.${table} (${names.join(', ')})
       SELECT ${names.map((name) => own[name] ?? `model.${name}`).join(', ')}
       FROM ${this.#schema}.${table} AS model, generate_series(1, $1::bigint) AS copy_number WHERE model.ref = $2`,
      [count, ref],
    )
  }

  async #rows<Row extends object>(text: string, values: unknown[] = []): Promise<readonly Row[]> {
    return (await this.#client.query<Row & Record<string, unknown>>(text, values)).rows
  }
}

/** An id of version 7, as enqueuing without a key makes them: they begin with the time. */
function timeOrderedId(atMs: string): string {
  const digits = `md5(copy_number::text || random()::text)`
  return `(lpad(to_hex((${atMs})::bigint), 12, '0') || '7' || left(${digits}, 3) || '8' || left(${digits}, 15))::uuid`
}
