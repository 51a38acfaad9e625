import { DatabaseSync } from 'node:sqlite'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { addFigures, addModel } from './model.ts'
import { type Amount, atSql, causeSql, entitySql, errorSql, jobSql, keySql, stateSql, tenantSql, wasRunSql } from './past.ts'

const refsPerMs = 1024

/** Fills a new file by SQL: one job and one run that the library itself has made are copied. */
export async function fillSqlite(path: string, amount: Amount): Promise<void> {
  await addModel(sqlite(path))
  const db = new DatabaseSync(path)
  db.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000; PRAGMA temp_store = MEMORY')
  const indexes = db
    .prepare(
      "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND name LIKE 'punctual!_%' ESCAPE '!'",
    )
    .all() as { name: string; sql: string }[]
  for (const { name } of indexes) db.exec(`DROP INDEX ${name}`)
  for (const sql of statements(amount, Date.now())) db.exec(sql)
  for (const { sql } of indexes) db.exec(sql)
  db.exec('PRAGMA journal_mode = WAL')
  db.close()
  await addFigures(sqlite(path), amount)
}

function statements(amount: Amount, now: number): readonly string[] {
  const { jobs, occurrences } = amount
  const at = atSql(amount, now)
  const count = (to: number) => `WITH RECURSIVE copy (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copy WHERE n < ${to})`
  const series = `(${jobSql(amount)}) + 2`
  const id = `substr(printf('%012x', ${at}), 1, 8) || '-' || substr(printf('%012x', ${at}), 9) || printf('-7%03x-8000-%012x', n % 4096, n)`
  const ended = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'dead']
  return [
    `${count(jobs)} INSERT INTO punctual_series (ref, tenant, slot, job)
      SELECT n + 1, ${tenantSql('(n - 1)')}, 0, printf('report-%06d', n - 1) FROM copy`,
    `${count(jobs)} INSERT INTO punctual_job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      SELECT n + 1, version, declared, override, tz, cursor, next_at, created_at, updated_at FROM copy, punctual_job WHERE series = 1`,
    `${count(jobs)} INSERT INTO punctual_job_version (series, version, spec, effective_at, created_at, by_whom)
      SELECT n + 1, version, spec, effective_at, created_at, by_whom FROM copy, punctual_job_version WHERE series = 1`,
    `${count(occurrences)} INSERT INTO punctual_occurrence (ref, series, form, scheduled_at, created_at, indexed, live, id, key, entity)
      SELECT ${at} * ${refsPerMs}, ${series}, 1, ${at}, ${at}, 0, 1, ${id}, ${keySql}, ${entitySql} FROM copy`,
    // By series, as the table holds them.
    `${count(occurrences)} INSERT INTO punctual_turn (series, ref, turn, end, node, started_at, ended_at, attempt, error)
      SELECT ${series} AS series, ${at} * ${refsPerMs} AS ref, 1, ${stateSql}, 'node-1', CASE WHEN ${wasRunSql} THEN ${at} END, ${at} + 40,
        CASE WHEN ${errorSql} IS NOT NULL THEN 'failed' WHEN ${wasRunSql} THEN 'succeeded' END, ${errorSql}
      FROM copy ORDER BY 1, 2`,
    `${count(occurrences)} INSERT INTO punctual_dead (series, ref, tenant, cause, died_at)
      SELECT ${series}, ${at} * ${refsPerMs}, ${tenantSql(`(${jobSql(amount)})`)}, ${causeSql}, ${at} + 40 FROM copy WHERE n % 211 = 0`,
    `UPDATE punctual_series SET present = t.count, last_run_at = t.last, failures_in_row = punctual_series.ref % 40 = 0, ${ended.map((end) => `${end} = t.${end}`).join(', ')}
      FROM (SELECT series, count(*) AS count, max(started_at) AS last, ${ended.map((end) => `sum(end = '${end}') AS ${end}`).join(', ')}
        FROM punctual_turn GROUP BY series) t WHERE t.series = punctual_series.ref`,
    `UPDATE punctual_meta SET value = (SELECT max(ref) FROM punctual_occurrence) WHERE name = 'counted_ref'`,
  ]
}
