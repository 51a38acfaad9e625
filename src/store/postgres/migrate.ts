// Brings the tables to the newest schema. A row guards the steps, so that of several nodes that start at once one migrates and
// the others wait for it. All steps are one commit.
import { PunctualError } from '../../errors.ts'
import type { Database } from './database.ts'
import { inSchema, migrations, newestSchema } from './schema.ts'

/** The statements that lead from a schema to the newest, as they are sent. */
export function migrationTexts(from: number, schema: string, isCompat: boolean): string[] {
  return [...(from > 0 ? [] : foundations(schema)), ...steps(from, isCompat)].map((sql) => inSchema(sql, `"${schema}"`))
}

// Before the first step there is no row to lock: these may be said by several at once.
const foundations = (schema: string) => [
  `CREATE SCHEMA IF NOT EXISTS "${schema}"`,
  'CREATE TABLE IF NOT EXISTS punctual.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())',
  'INSERT INTO punctual.migration (number) VALUES (0) ON CONFLICT DO NOTHING',
]

function steps(from: number, isCompat: boolean): string[] {
  return migrations
    .filter(({ number }) => number > from)
    .flatMap(({ number, statements }) => [
      ...statements.filter(({ tuning }) => !tuning || !isCompat).map(({ sql }) => sql),
      `INSERT INTO punctual.migration (number) VALUES (${number})`,
    ])
}

/** Which schema the tables have; 0 when there are none. */
export async function schemaNumber(db: Database): Promise<number> {
  const [row] = await db.all<[boolean]>('SELECT to_regclass($1) IS NOT NULL AS is_there', [`"${db.schema}".migration`])
  if (!row?.[0]) return 0
  const [found] = await db.all<[number]>('SELECT max(number) AS newest FROM punctual.migration')
  return found?.[0] ?? 0
}

/** Checks the schema, and brings it up where that is wanted. Returns the number it had before. */
export async function migrate(
  db: Database,
  { createTables, compat }: { readonly createTables: boolean; readonly compat: boolean },
): Promise<number> {
  const before = await schemaNumber(db)
  const details = { schema: db.schema, number: before, newest: newestSchema }
  if (before > newestSchema)
    throw new PunctualError(
      'store.newer',
      `Schema ${db.schema} is at ${before}, of a newer release; this one knows up to ${newestSchema}. Upgrade Punctual in this process`,
      details,
    )
  if (before === newestSchema) return before
  if (!createTables)
    throw new PunctualError(
      'store.outdated',
      `Schema ${db.schema} is at ${before}, and this release needs ${newestSchema}. Run punctual migrate, or leave createTables on`,
      details,
    )
  if (before === 0) await lay(db)
  await db.work(async (session) => {
    await session.all('SELECT number FROM punctual.migration WHERE number = 0 FOR UPDATE')
    const [row] = await session.all<[number]>('SELECT max(number) AS newest FROM punctual.migration')
    const texts = steps(row?.[0] ?? 0, compat)
    if (texts.length > 0) await session.all(texts.join(';\n'))
  })
  return before
}

/** Names that two make at the same moment are refused to one of them, though they are there then. */
const alreadyThere = ['23505', '42P06', '42P07', 'XX000']
const mostTries = 5

async function lay(db: Database): Promise<void> {
  for (const text of foundations(db.schema)) {
    for (let tries = 1; ; tries++) {
      try {
        await db.all(text)
        break
      } catch (error) {
        if (tries >= mostTries || !alreadyThere.includes(String((error as { code?: unknown }).code))) throw error
      }
    }
  }
}
