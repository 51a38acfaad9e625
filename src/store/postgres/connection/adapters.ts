// Transactions of other libraries as Punctual needs them. Their types are described here by the part that is used: the libraries
// themselves are not needed to build or to run this.
import type { Queryable } from '../../store.ts'

interface KyselyTransaction {
  readonly isTransaction: true
  withoutPlugins(): { executeQuery(query: KyselyQuery): Promise<{ readonly rows: unknown[] }> }
}

interface KyselyQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: { readonly kind: 'RawNode'; readonly sqlFragments: readonly string[]; readonly parameters: readonly never[] }
  readonly queryId: { readonly queryId: string }
}

/**
 * A transaction of Kysely.
 * @example db.transaction().execute((trx) => punctual.enqueue('mail', { to }, { tx: fromKysely(trx) }))
 */
export function fromKysely(trx: KyselyTransaction): Queryable {
  // A plugin that renames columns or reads JSON would change the rows.
  const plain = trx.withoutPlugins()
  return {
    query(sql, parameters) {
      const query = { kind: 'RawNode' as const, sqlFragments: [sql], parameters: [] }
      return plain.executeQuery({ sql, parameters, query, queryId: { queryId: 'punctual' } })
    },
  }
}

interface DrizzleTransaction {
  execute(query: never): PromiseLike<unknown>
  rollback(): never
}

/**
 * A transaction of Drizzle, on any of its drivers for PostgreSQL.
 * @example db.transaction((tx) => punctual.enqueue('mail', { to }, { tx: fromDrizzle(tx) }))
 */
export function fromDrizzle(tx: DrizzleTransaction): Queryable {
  return {
    async query(text, values) {
      // Drizzle calls these two methods of a statement.
      const statement = { getSQL: () => statement, toQuery: () => ({ sql: text, params: values }) }
      const answer = await tx.execute(statement as never)
      // Some drivers give the rows alone.
      return { rows: Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows }
    },
  }
}

interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
  /** The client itself has it, a transaction of its has not. */
  readonly $transaction?: never
}

/**
 * An interactive transaction of Prisma.
 * @example prisma.$transaction((tx) => punctual.enqueue('mail', { to }, { tx: fromPrisma(tx) }))
 */
export function fromPrisma(tx: PrismaTransaction): Queryable {
  return { query: async (text, values) => ({ rows: (await tx.$queryRawUnsafe(text, ...values)) as unknown[] }) }
}
