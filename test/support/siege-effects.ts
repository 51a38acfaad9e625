import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Context } from '../../src/model/context.ts'
import type { EffectContext } from '../../src/model/effect.ts'

export type Work = (ctx: Context<never, object>) => Promise<string>

/** Creates two children on the way, and again at each attempt. */
export function withChildren(work: Work): Work {
  return async (ctx) => {
    for (const name of ['first', 'second']) await ctx.enqueue('one', name)
    return work(ctx)
  }
}

/** A remote system that drops duplicates by their key, and what handlers did with it. */
export class Charges {
  readonly #faults: string[]
  /** The occurrence that charged, by the key. */
  readonly #byKey = new Map<string, string>()
  /** Occurrences that have got the outcome of their charge. */
  readonly #answered = new Set<string>()

  constructor(faults: string[]) {
    this.#faults = faults
  }

  /** Charges once on the way. A process that has crashed charges nothing and learns nothing. */
  paid(work: Work, isCrashed: () => boolean): Work {
    return async (ctx) => {
      const { occurrenceId } = ctx
      const charge = async ({ idempotencyKey }: EffectContext) => {
        if (this.#answered.has(occurrenceId)) this.#faults.push(`${occurrenceId} charges although it had the outcome`)
        await work(ctx)
        if (!isCrashed()) this.#byKey.set(idempotencyKey, occurrenceId)
        return idempotencyKey
      }
      const charged = await ctx.once('charge', charge, { check: ({ idempotencyKey }) => this.#found(idempotencyKey) })
      if (!isCrashed()) this.#answered.add(occurrenceId)
      await work(ctx)
      return charged
    }
  }

  #found(key: string) {
    return this.#byKey.has(key) ? { happened: true as const, result: key } : { happened: false as const }
  }

  chargesOf(id: string): string[] {
    return [...this.#byKey].filter(([, occurrence]) => occurrence === id).map(([key]) => key)
  }
}

type Sql = { query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }> }

/** A table of the user's own in the database of the store, written in the commit that ends the task. */
export class Books {
  /** Sieges on PostgreSQL share the table. */
  readonly #siege = randomUUID()

  booked(work: Work): Work {
    return async (ctx) => {
      const value = await work(ctx)
      return ctx.transaction((tx: DatabaseSync | Sql) => {
        if ('exec' in tx) {
          tx.exec('CREATE TABLE IF NOT EXISTS booked (siege TEXT, id TEXT)')
          tx.prepare('INSERT INTO booked VALUES (?, ?)').run(this.#siege, ctx.occurrenceId)
          return value
        }
        return this.#insert(tx, ctx.occurrenceId, value)
      })
    }
  }

  /** A handler that returns the ids in the table. */
  readonly read: Work = (ctx) =>
    ctx.transaction((tx: DatabaseSync | Sql) => {
      if (!('exec' in tx)) return this.#select(tx)
      tx.exec('CREATE TABLE IF NOT EXISTS booked (siege TEXT, id TEXT)')
      return JSON.stringify(tx.prepare('SELECT id FROM booked').all())
    })

  async #insert(tx: Sql, id: string, value: string): Promise<string> {
    await makeTable(tx)
    await tx.query('INSERT INTO siege.booked VALUES ($1, $2)', [this.#siege, id])
    return value
  }

  async #select(tx: Sql): Promise<string> {
    await makeTable(tx)
    return JSON.stringify((await tx.query('SELECT id FROM siege.booked WHERE siege = $1', [this.#siege])).rows)
  }
}

async function makeTable(tx: Sql): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(11)')
  await tx.query('CREATE SCHEMA IF NOT EXISTS siege')
  await tx.query('CREATE TABLE IF NOT EXISTS siege.booked (siege text, id text)')
}
