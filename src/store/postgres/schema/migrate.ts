// Brings the tables to the newest schema. A row guards the steps: of several nodes that start together one migrates and
// the others wait for it. All steps are one commit.
import { PunctualError } from '../../../errors.ts'
import { Database, type Source } from '../connection/database.ts'
import { isForbidden } from '../connection/failure.ts'
import type { Session } from '../connection/session.ts'
import { checkPostgresOptions, checkSource, type PostgresOptions } from '../options.ts'
import { inSchema, migrations, newestSchema } from './tables.ts'

/** The number that the schema had, the one that it has now or would have, and the statements between them. */
export interface Migrated {
  readonly from: number
  readonly to: number
  readonly statements: readonly string[]
}

/**
 * Makes the tables or brings them to the schema of this release, for applications that do not leave it to the first process that opens
 * the store. Safe to run again and by several at once.
 * @example await migrate('postgres://owner@localhost/app', { schema: 'jobs' })
 */
export async function migrate(
  source: Source,
  { dryRun = false, ...given }: PostgresOptions & { /** Only tell what would be done. */ readonly dryRun?: boolean } = {},
): Promise<Migrated> {
  const { schema, prepare } = checkPostgresOptions(given)
  const db = new Database(checkSource(source), { schema, prepare })
  try {
    const from = dryRun ? await knownSchema(db) : await bringUp(db, { createTables: true })
    return { from, to: newestSchema, statements: statementsFrom(from, schema) }
  } finally {
    await db.close()
  }
}

/** The statements that lead from a schema to the newest, as they are sent. */
function statementsFrom(from: number, schema: string): string[] {
  const texts = [...(from > 0 ? [] : foundations(schema)), ...steps(from)]
  return texts.map((sql) => inSchema(sql, `"${schema}"`))
}

// Before the first step there is no row to lock: these may be said by several at once.
const foundations = (schema: string) => [
  `CREATE SCHEMA IF NOT EXISTS "${schema}"`,
  'CREATE TABLE IF NOT EXISTS punctual.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
  'INSERT INTO punctual.migration (number) VALUES (0) ON CONFLICT DO NOTHING',
]

function steps(from: number): string[] {
  return migrations
    .filter(({ number }) => number > from)
    .flatMap(({ number, statements }) => [...statements, `INSERT INTO punctual.migration (number) VALUES (${number})`])
}

/** Checks the schema, and brings it up where that is wanted. Returns the number it had before. */
export async function bringUp(db: Database, { createTables }: { readonly createTables: boolean }): Promise<number> {
  const before = await knownSchema(db)
  if (before === newestSchema) return before
  if (!createTables) throw outdated(db, before, 'Run punctual migrate, or leave createTables on')
  try {
    if (before === 0) await lay(db)
    await climb(db)
  } catch (cause) {
    if (!isForbidden(cause)) throw cause
    const advice = 'This role may not change it: run punctual migrate as one that may create in the database'
    throw outdated(db, before, advice, cause)
  }
  return before
}

/** Which schema the tables have, 0 when there are none; refused when it is one of a newer release. */
async function knownSchema(db: Database): Promise<number> {
  const number = await schemaNumber(db)
  if (number <= newestSchema) return number
  throw new PunctualError(
    'store.newer',
    `Schema ${db.schema} is at ${number}, of a newer release; this one knows up to ${newestSchema}. Upgrade Punctual in this process`,
    { schema: db.schema, number, newest: newestSchema },
  )
}

interface IsThere {
  readonly is_there: boolean
}

async function schemaNumber(db: Database): Promise<number> {
  const [row] = await db.apart.rows<IsThere>('SELECT to_regclass($1) IS NOT NULL AS is_there', [`"${db.schema}".migration`])
  return row?.is_there ? newestStep(db.apart) : 0
}

async function newestStep(session: Session): Promise<number> {
  const [row] = await session.rows<{ newest: number | null }>('SELECT max(number) AS newest FROM punctual.migration')
  return row?.newest ?? 0
}

function outdated({ schema }: Database, number: number, advice: string, cause?: unknown): PunctualError {
  const state = number === 0 ? `has no tables of Punctual` : `is at ${number}, and this release needs ${newestSchema}`
  return new PunctualError(
    'store.outdated',
    `Schema ${schema} ${state}. ${advice}`,
    { schema, number, newest: newestSchema },
    { cause },
  )
}

async function climb(db: Database): Promise<void> {
  await db.work(async ({ session }) => {
    await session.rows('SELECT number FROM punctual.migration WHERE number = 0 FOR UPDATE')
    const texts = steps(await newestStep(session))
    if (texts.length > 0) await session.rows(texts.join(';\n'))
  })
}

/** Names that two make at the same moment are refused to one of them, though they are there then. */
const alreadyThere = ['23505', '42710', '42P06', '42P07', 'XX000']
const mostTries = 5

async function lay(db: Database): Promise<void> {
  // A role without the right to make schemas is refused even if there is nothing to make.
  const [row] = await db.apart.rows<IsThere>('SELECT to_regnamespace($1) IS NOT NULL AS is_there', [`"${db.schema}"`])
  for (const text of foundations(db.schema).slice(row?.is_there ? 1 : 0)) {
    for (let tries = 1; ; tries++) {
      try {
        await db.apart.rows(text)
        break
      } catch (error) {
        if (tries >= mostTries || !alreadyThere.includes(String((error as { code?: unknown }).code))) throw error
      }
    }
  }
}
