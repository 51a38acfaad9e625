// Compiled by the checks and never run: each line under an expectation must not compile, and all others must.
import type { ExtractTablesWithRelations } from 'drizzle-orm'
import type { NodePgDatabase, NodePgTransaction } from 'drizzle-orm/node-postgres'
import type { PostgresJsTransaction } from 'drizzle-orm/postgres-js'
import type { ControlledTransaction, Kysely, Transaction } from 'kysely'
import type pg from 'pg'
import type { Punctual } from '../../../src/client/punctual.ts'
import type { Context } from '../../../src/model/context.ts'
import { fromDrizzle, fromKysely, fromPrisma } from '../../../src/store/postgres/index.ts'

interface Tables {
  readonly orders: { readonly id: string }
}
type Empty = Record<string, never>

declare const punctual: Punctual
declare const client: pg.Client
declare const poolClient: pg.PoolClient
declare const trx: Transaction<Tables>
declare const controlled: ControlledTransaction<Tables>
declare const kysely: Kysely<Tables>
declare const drizzled: NodePgTransaction<Empty, ExtractTablesWithRelations<Empty>>
declare const drizzledOther: PostgresJsTransaction<Empty, ExtractTablesWithRelations<Empty>>
declare const drizzle: NodePgDatabase
declare const prismaTransaction: { $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): Promise<T> }
declare const prisma: typeof prismaTransaction & { $transaction(work: unknown): Promise<unknown> }
declare const ctx: Context

punctual.enqueue('mail', 1, { tx: client })
punctual.enqueueMany([{ job: 'mail' }], { tx: poolClient })
punctual.cancel('id', { tx: fromKysely(trx), reason: 'paid' })
fromKysely(controlled)
fromDrizzle(drizzled)
fromDrizzle(drizzledOther)
fromPrisma(prismaTransaction)

// @ts-expect-error outside of a transaction each statement would be committed by itself
fromKysely(kysely)
// @ts-expect-error the same
fromDrizzle(drizzle)
// @ts-expect-error the same
fromPrisma(prisma)
// @ts-expect-error in bulk the transaction is given once, beside the requests
punctual.enqueueMany([{ job: 'mail', tx: client }])
// @ts-expect-error a transaction has query
punctual.enqueue('mail', 1, { tx: trx })

const awaited: Promise<number> = ctx.transaction(async (tx: pg.PoolClient) => (await tx.query('SELECT 1')).rows.length)
const immediate: Promise<number> = ctx.transaction(() => 1)
void [awaited, immediate]
