// Plans are kept for as long as a connection lives: one that was made while a table was small must be as good when it has grown.
import { Client } from 'pg'
import { freshSchemaName } from './postgres-database.ts'

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly 'TID Cond'?: string
  readonly Plans?: readonly PlanNode[]
}

/** Their rows are as many as there is work, or was. */
const growing = [
  'ready',
  'waiting',
  'occurrence',
  'turn',
  'attempt',
  'live_key',
  'tombstone',
  'release',
  'hook_note',
  'limit_key',
  'dead',
]

/** Statements about all rows, or about any one of them. */
const meantToBe = [
  // All rows that wait for a pause, have a grant, or were planned.
  "FROM waiting p WHERE p.reason = 'pause'",
  'FROM ready p WHERE p.granted > 0',
  'FROM ready p WHERE p.planned AND NOT p.begun AND p.due_at >',
  'SELECT p.ref FROM ready p CROSS JOIN LATERAL jsonb_array_elements(p.limits)',
  // All dead work, by its cause, along an index that has nothing else.
  'FROM dead d WHERE true GROUP BY d.tenant, d.cause',
  // Care that comes seldom.
  'UPDATE pause q SET swept = true',
  'UPDATE hook_note SET node = NULL, free_at = $2 WHERE node = $1',
  'DELETE FROM limit_key WHERE key = ANY(ARRAY(SELECT k.key FROM limit_key k',
  // The first row of an index, in its order.
  'SELECT w.wake_at FROM waiting w WHERE w.wake_at IS NOT NULL',
  'SELECT true FROM waiting WHERE key IS NOT NULL LIMIT 1',
  // Without the index that the first node which picks makes.
  'WITH RECURSIVE lane (kind, priority, series)',
]

/**
 * The places in the plans of `statements`, made by a server that takes every table for nearly empty, that go over a table
 * instead of going into it by a key. Planned twice: in tables that have been swept, and in tables that could not be, since a long
 * transaction keeps the rows that were deleted. The database is this caller's alone, or others' transactions would decide.
 */
export async function wholeScans(
  statements: Iterable<string>,
  { url, migrate, settings }: { url: string; migrate: (schema: string) => Promise<void>; settings: string },
): Promise<string[]> {
  const texts = [...statements]
  const client = new Client({ connectionString: url, options: settings })
  const old = new Client({ connectionString: url })
  await client.connect()
  await old.connect()
  try {
    const swept = await scansInNew(client, migrate, texts)
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await old.query('SELECT 1')
    const unswept = await scansInNew(client, migrate, texts)
    return [...swept, ...unswept.map((scan) => `beside a long transaction: ${scan}`)]
  } finally {
    await old.end()
    await client.end()
  }
}

async function scansInNew(client: Client, migrate: (schema: string) => Promise<void>, statements: string[]): Promise<string[]> {
  const schema = freshSchemaName()
  await migrate(schema)
  for (const table of growing) await client.query(`VACUUM ANALYZE ${schema}.${table}`)
  const found: string[] = []
  for (const statement of statements) {
    const text = statement.replaceAll(/\s+/g, ' ').replaceAll(/"test_\w+"\./g, '')
    if (meantToBe.some((part) => text.includes(part))) continue
    const plan = await planOf(client, statement.replaceAll(/"test_\w+"/g, schema))
    found.push(...scansIn(plan).map((scan) => `${scan} in ${text}`))
  }
  return found
}

async function planOf(client: Client, statement: string): Promise<PlanNode> {
  const parameters = Math.max(0, ...[...statement.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
  await client.query(`PREPARE looked_at AS ${statement}`)
  try {
    const values = parameters === 0 ? '' : `(${Array(parameters).fill('NULL').join(', ')})`
    const { rows } = await client.query(`EXPLAIN (FORMAT JSON) EXECUTE looked_at${values}`)
    return rows[0]['QUERY PLAN'][0].Plan
  } finally {
    await client.query('DEALLOCATE looked_at')
  }
}

function scansIn(node: PlanNode): string[] {
  const table = node['Relation Name']
  const isScan = /Scan$/.test(node['Node Type']) && table !== undefined && growing.includes(table)
  const isKeyed = node['Index Cond'] !== undefined || node['TID Cond'] !== undefined || node['Node Type'] === 'Bitmap Heap Scan'
  return [...(isScan && !isKeyed ? [`${node['Node Type']} on ${table}`] : []), ...(node.Plans ?? []).flatMap(scansIn)]
}
