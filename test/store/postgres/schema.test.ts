import { readFileSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { attemptStates, occurrenceStates, sources, turnEnds } from '../../../src/model/lifecycle.ts'
import { limitKinds } from '../../../src/model/limit.ts'
import { uniqueKinds } from '../../../src/model/occurrence.ts'
import { gateStates } from '../../../src/store/messages/gate.ts'
import { migrate, postgres } from '../../../src/store/postgres/index.ts'
import { inSchema, migrations, newestSchema } from '../../../src/store/postgres/schema/tables.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { createDatabase, freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

const env = { clock: systemClock, random: () => 0 }

/** Opens a store and closes it when the test is over. */
async function open(url: string, options: Parameters<typeof postgres>[1]) {
  const store = postgres(url, options)
  await store.open(env)
  onTestFinished(() => store.close())
  return store
}

const applied = (url: string, schema: string) =>
  queryOnce<{ number: number }>(url, `SELECT number FROM ${schema}.migration ORDER BY number`)

describe('opening', () => {
  it('makes everything once', async () => {
    const url = await sharedPostgresUrl()
    const schema = freshSchemaName()
    await open(url, { schema })
    const first = await catalog(url, schema)
    await open(url, { schema })
    expect(await catalog(url, schema)).toEqual(first)
    expect((await applied(url, schema)).map(({ number }) => number)).toEqual([0, ...migrations.map(({ number }) => number)])
  })

  it('F33 succeeds for eight at once on an empty database', async () => {
    for (let round = 0; round < 5; round++) {
      const url = await createDatabase()
      const stores = await Promise.all(Array.from({ length: 8 }, () => open(url, { listenUrl: false })))
      expect(await Promise.all(stores.map((store) => store.list({ limit: 1 })))).toEqual(
        stores.map(() => ({ items: [], cursor: null })),
      )
      expect(await applied(url, 'punctual')).toHaveLength(newestSchema + 1)
      await Promise.all(stores.map((store) => store.close()))
    }
  })

  it('goes on where one that made the tables was cut off before its commit', async () => {
    const url = await sharedPostgresUrl()
    const schema = freshSchemaName()
    await queryOnce(url, `CREATE SCHEMA ${schema}`)
    await queryOnce(
      url,
      `CREATE TABLE ${schema}.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`,
    )
    await open(url, { schema })
    expect(await applied(url, schema)).toHaveLength(newestSchema + 1)
  })

  it('refuses a newer schema, and changes nothing', async () => {
    const url = await sharedPostgresUrl()
    const schema = freshSchemaName()
    await open(url, { schema })
    await queryOnce(url, `INSERT INTO ${schema}.migration (number) VALUES (${newestSchema + 1})`)
    const refusal = { code: 'store.newer', details: { schema, number: newestSchema + 1, newest: newestSchema } }
    await expect(postgres(url, { schema }).open(env)).rejects.toMatchObject(refusal)
    await expect(migrate(url, { schema, dryRun: true })).rejects.toMatchObject(refusal)
  })

  it('refuses missing and older tables where it may not make them, and says what to do', async () => {
    const url = await sharedPostgresUrl()
    const schema = freshSchemaName()
    const store = postgres(url, { schema, createTables: false })
    const message = expect.stringMatching(/has no tables of Punctual\. Run punctual migrate, or leave createTables on/)
    await expect(store.open(env)).rejects.toMatchObject({ code: 'store.outdated', message, details: { schema, number: 0 } })
    expect(await queryOnce(url, 'SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])).toEqual([])
    await migrate(url, { schema })
    await store.open(env)
    await store.close()
    await queryOnce(url, `UPDATE ${schema}.migration SET number = -1 WHERE number = ${newestSchema}`)
    await expect(store.open(env)).rejects.toMatchObject({ code: 'store.outdated', details: { number: newestSchema - 1 } })
  })
})

describe('a role without the right to create', () => {
  it('works on tables that are there', async () => {
    const { url, asRole, schema } = await limitedRole()
    await migrate(url, { schema })
    await queryOnce(
      url,
      `GRANT USAGE ON SCHEMA ${schema} TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO PUBLIC;
        GRANT ALL ON ALL SEQUENCES IN SCHEMA ${schema} TO PUBLIC`,
    )
    const store = await open(asRole, { schema })
    await store.pause({ tenant: 'acme', job: null, open: { until: null, reason: null, by: null } })
    expect(await store.readPauses({})).toHaveLength(1)
  })

  it('is told which right it lacks where there are none', async () => {
    const { asRole, schema } = await limitedRole()
    const message = expect.stringContaining('run punctual migrate as one that may')
    await expect(postgres(asRole, { schema }).open(env)).rejects.toMatchObject({ code: 'store.outdated', message })
  })

  it('is told where it may not read them', async () => {
    const { url, asRole, schema } = await limitedRole()
    await migrate(url, { schema })
    await expect(postgres(asRole, { schema }).open(env)).rejects.toMatchObject({
      code: 'store.refused',
      message: expect.stringContaining('permission denied'),
    })
  })

  it('makes its tables in a schema that somebody made for it', async () => {
    const { url, asRole, schema, role } = await limitedRole()
    await queryOnce(url, `CREATE SCHEMA ${schema} AUTHORIZATION ${role}`)
    await open(asRole, { schema })
    expect(await applied(url, schema)).toHaveLength(newestSchema + 1)
  })
})

describe('a schema of an earlier release', () => {
  it.each(migrations)('step $number is what it was when it was released', async ({ number, statements }) => {
    // A released step is never changed: add another one.
    const text = statements.map((sql) => `${sql};\n`).join('')
    await expect(text).toMatchFileSnapshot(`schemas/${number}.sql`)
  })

  it.each([0, ...migrations.map(({ number }) => number)])('%i is brought to the newest with all its rows', async (number) => {
    const url = await sharedPostgresUrl()
    const schema = freshSchemaName()
    await layReleased(url, schema, number)
    const before = await countRows(url, schema)
    if (number > 0) expect(Object.entries(before).filter(([, count]) => count === 0)).toEqual([])
    expect(await migrate(url, { schema })).toMatchObject({ from: number, to: newestSchema })
    const fresh = freshSchemaName()
    await migrate(url, { schema: fresh })
    expect(await catalog(url, schema)).toEqual(await catalog(url, fresh))
    const after = await countRows(url, schema)
    for (const [table, count] of Object.entries(before))
      if (table !== 'migration') expect(after).toMatchObject({ [table]: count })
    const store = await open(url, { schema, createTables: false })
    expect((await store.list({ limit: 10 })).items).toHaveLength(number === 0 ? 0 : 2)
  })

  it('numbers its steps from 1 without a gap', () => {
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, index) => index + 1))
  })
})

describe('names of schemas', () => {
  const hostile = [
    '',
    'a b',
    'A',
    'ä',
    '1a',
    'a-b',
    'a.b',
    'a"b',
    `a'b`,
    'a;DROP SCHEMA public',
    'a\0',
    'a\n',
    '$1',
    'pg_catalog',
    'pg_x',
    'a'.repeat(49),
    '__proto__\u202e',
    'ı',
  ]
  it.each(hostile)('S22 %j is refused before anything is sent', (schema) => {
    const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
    expect(() => postgres(nowhere, { schema })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })

  it.each([7, null, ['a'], {}])('%j is refused', (schema) => {
    const nowhere = 'postgres://nobody@127.0.0.1:1/nothing'
    expect(() => postgres(nowhere, { schema: schema as never })).toThrow(expect.objectContaining({ code: 'option.invalid' }))
  })

  it.each(['a', '_', 'a'.repeat(48), 'select', 'user'])('%j is taken, and stays apart from others', async (schema) => {
    const url = await createDatabase()
    await open(url, { schema })
    const other = await open(url, { schema: `${schema.slice(0, 47)}_` })
    expect(await other.list({ limit: 1 })).toEqual({ items: [], cursor: null })
    const rows = await queryOnce<{ n: string }>(
      url,
      `SELECT nspname AS n FROM pg_namespace WHERE nspname !~ '^(pg_|information)'`,
    )
    expect(rows.map(({ n }) => n).sort()).toEqual(['public', schema, `${schema.slice(0, 47)}_`].sort())
  })
})

describe('sources', () => {
  it.each(['', 'localhost', 'mysql://a:hunter2@b/c', 'postgres://a:hunter2@[/c', 7, null, {}])('%j is no address', (source) => {
    const attempt = () => postgres(source as never)
    expect(attempt).toThrow(expect.objectContaining({ code: 'option.invalid' }))
    expect(attempt).not.toThrow(/hunter2/)
  })
})

it('enum types hold the values of the model and no other', async () => {
  const url = await sharedPostgresUrl()
  const schema = freshSchemaName()
  await migrate(url, { schema })
  expect(await enums(url, schema)).toEqual({
    source: sources,
    uniqueness: uniqueKinds,
    turn_end: turnEnds,
    attempt_state: attemptStates,
    wait_reason: ['stranded', 'pause', ...limitKinds],
    passed_state: ['missed', 'skipped'],
    gate_state: gateStates,
  })
  const columns = (await catalog(url, schema)).columns.map(({ name }) => name)
  for (const table of ['series', 'count_delta'])
    expect(columns).toEqual(expect.arrayContaining(occurrenceStates.map((state) => `${table}.${state}`)))
})

/** Tables as a release left them, with rows in each. */
async function layReleased(url: string, schema: string, number: number): Promise<void> {
  if (number === 0) return
  const fixture = (name: string) => inSchema(readFileSync(`${import.meta.dirname}/schemas/${name}.sql`, 'utf8'), `"${schema}"`)
  await queryOnce(url, `CREATE SCHEMA ${schema}`)
  await queryOnce(url, `CREATE TABLE ${schema}.migration (number int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`)
  for (let step = 1; step <= number; step++) await queryOnce(url, fixture(String(step)))
  await queryOnce(url, `INSERT INTO ${schema}.migration (number) SELECT generate_series(0, ${number})`)
  await queryOnce(url, fixture(`${number}-rows`))
}

async function countRows(url: string, schema: string): Promise<Record<string, number>> {
  const tables = await queryOnce<{ name: string }>(url, 'SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [schema])
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const [row] = await queryOnce<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${schema}.${name}`)
    counts[name] = row?.count ?? 0
  }
  return counts
}

async function enums(url: string, schema: string): Promise<Record<string, string[]>> {
  const rows = await queryOnce<{ name: string; values: string[] }>(
    url,
    `SELECT t.typname AS name, array_agg(e.enumlabel::text ORDER BY e.enumsortorder) AS values
      FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid WHERE t.typnamespace = $1::regnamespace GROUP BY t.typname`,
    [schema],
  )
  return Object.fromEntries(rows.map(({ name, values }) => [name, values]))
}

/** All that makes up a schema, with its name left out. */
async function catalog(url: string, schema: string) {
  const read = async (text: string) => {
    const rows = await queryOnce<Record<'name' | 'says', string>>(url, text, [schema])
    return rows.map(({ name, says }) => ({ name, says: String(says).replaceAll(schema, 'punctual') }))
  }
  const [columns, indexes, constraints, functions, options] = await Promise.all([
    read(`SELECT c.relname || '.' || a.attname AS name, concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation) AS says
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.relnamespace = $1::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1`),
    read('SELECT indexname AS name, indexdef AS says FROM pg_indexes WHERE schemaname = $1 ORDER BY 1'),
    read(`SELECT conrelid::regclass || '.' || conname AS name, pg_get_constraintdef(oid) AS says FROM pg_constraint
      WHERE connamespace = $1::regnamespace ORDER BY conrelid::regclass::text, conname`),
    read('SELECT proname AS name, pg_get_functiondef(oid) AS says FROM pg_proc WHERE pronamespace = $1::regnamespace ORDER BY 1'),
    read(`SELECT relname AS name, array_to_string(reloptions, ' ') AS says FROM pg_class
      WHERE relnamespace = $1::regnamespace AND reloptions IS NOT NULL ORDER BY 1`),
  ])
  const named = constraints.map(({ name, says }) => ({ name: name.replaceAll(schema, 'punctual'), says }))
  return { columns, indexes, constraints: named, functions, options, enums: await enums(url, schema) }
}

/** A user who may connect to one separate database, and no more. */
async function limitedRole(): Promise<{ url: string; asRole: string; schema: string; role: string }> {
  const url = await createDatabase()
  const role = `${freshSchemaName()}_role`
  await queryOnce(url, `CREATE ROLE ${role} LOGIN PASSWORD 'secret'`)
  onTestFinished(async () => {
    await queryOnce(url, `DROP OWNED BY ${role} CASCADE`)
    await queryOnce(url, `DROP ROLE ${role}`)
  })
  const asRole = new URL(url)
  asRole.username = role
  asRole.password = 'secret'
  return { url, asRole: asRole.href, schema: freshSchemaName(), role }
}
