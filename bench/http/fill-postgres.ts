import { Client } from 'pg'
import { postgres } from '../../src/store/postgres/index.ts'
import { addFigures, addModel } from './model.ts'
import {
  type Amount,
  atSql,
  causeSql,
  dayMs,
  days,
  entitySql,
  errorSql,
  jobSql,
  keySql,
  stateSql,
  tenantSql,
  wasRunSql,
} from './past.ts'

/** Fills an empty database by SQL: it copies one job and one run that the library itself has made. */
export async function fillPostgres(url: string, amount: Amount): Promise<void> {
  await addModel(postgres(url))
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query("SET synchronous_commit = off; SET maintenance_work_mem = '512MB'; SET work_mem = '512MB'")
    const { rows: indexes } = await client.query<{ name: string; sql: string }>(selectIndexes)
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
    for (const sql of statements(amount, Date.now())) await client.query(sql)
    for (const { sql } of indexes) await client.query(sql)
    await client.query('VACUUM (ANALYZE)')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
  await addFigures(postgres(url), amount)
}

/** Those that a table can do without while it is filled. */
const selectIndexes = `SELECT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS sql FROM pg_index i
  WHERE NOT i.indisunique AND i.indrelid IN ('punctual.occurrence'::regclass, 'punctual.turn'::regclass, 'punctual.dead'::regclass)`

function statements(amount: Amount, now: number): readonly string[] {
  const { jobs, occurrences } = amount
  const at = atSql(amount, now)
  const copies = (count: number) => `generate_series(1, ${count}::bigint) AS n`
  const series = `(${jobSql(amount)}) + 2`
  const id = `(lpad(to_hex(${at}), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8000' || lpad(to_hex(n), 12, '0'))::uuid`
  const ended = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'dead']
  return [
    `INSERT INTO punctual.series (ref, tenant, slot, job) OVERRIDING SYSTEM VALUE
      SELECT n + 1, ${tenantSql('(n - 1)')}, 0, 'report-' || lpad((n - 1)::text, 6, '0') FROM ${copies(jobs)}`,
    `SELECT setval(pg_get_serial_sequence('punctual.series', 'ref'), ${jobs + 1})`,
    `INSERT INTO punctual.job (series, version, declared, override, tz, cursor, next_at, created_at, updated_at)
      SELECT n + 1, version, declared, override, tz, cursor, next_at, created_at, updated_at FROM ${copies(jobs)}, punctual.job WHERE series = 1`,
    `INSERT INTO punctual.job_version (series, version, spec, effective_at, created_at, by_whom)
      SELECT n + 1, version, spec, effective_at, created_at, by_whom FROM ${copies(jobs)}, punctual.job_version WHERE series = 1`,
    `INSERT INTO punctual.occurrence (ref, scheduled_at, created_at, id, series, form, key, entity)
      SELECT n + 1000, ${at}, ${at}, ${id}, ${series}, 1, ${keySql}, ${entitySql} FROM ${copies(occurrences)}`,
    // The model was created before them.
    `UPDATE punctual.occurrence SET scheduled_at = scheduled_at - ${days * dayMs}, created_at = created_at - ${days * dayMs} WHERE ref < 1000`,
    `SELECT setval(pg_get_serial_sequence('punctual.occurrence', 'ref'), ${occurrences + 1000})`,
    `INSERT INTO punctual.turn (ref, ended_at, started_at, due_at, turn, series, "end", attempt, node, error, is_published)
      SELECT n + 1000, ${at} + 40, CASE WHEN ${wasRunSql} THEN ${at} END, ${at}, 1, ${series}, (${stateSql})::punctual.turn_end,
        (CASE WHEN ${errorSql} IS NOT NULL THEN 'failed' WHEN ${wasRunSql} THEN 'succeeded' END)::punctual.attempt_state, 'node-1', ${errorSql}, true
      FROM ${copies(occurrences)}`,
    `INSERT INTO punctual.dead (series, ref, tenant, cause, died_at)
      SELECT ${series}, n + 1000, ${tenantSql(`(${jobSql(amount)})`)}, ${causeSql}, ${at} + 40 FROM ${copies(occurrences)} WHERE n % 211 = 0`,
    `UPDATE punctual.series s SET last_run_at = t.last, failures_in_row = CASE WHEN s.ref % 40 = 0 THEN 1 ELSE 0 END, ${ended.map((end) => `${end} = t.${end}`).join(', ')}
      FROM (SELECT series, max(started_at) AS last, ${ended.map((end) => `count(*) FILTER (WHERE "end" = '${end}') AS ${end}`).join(', ')}
        FROM punctual.turn GROUP BY series) t WHERE t.series = s.ref`,
    `INSERT INTO punctual.tenant (name, ${ended.join(', ')})
      SELECT tenant, ${ended.map((end) => `sum(${end})`).join(', ')} FROM punctual.series GROUP BY tenant`,
  ]
}
