// The past that both stores are filled with: `jobs` jobs of 41 tenants, and `occurrences` runs of the last 30 days. Expressions are SQL of
// `n`, the number of a run from 1 on, and mean the same in SQLite and PostgreSQL.

export interface Amount {
  readonly jobs: number
  readonly occurrences: number
}

export const definition = 'report'
export const days = 30
export const dayMs = 86_400_000
/** Jobs that have half of all runs; the others share the rest. */
const busyJobs = 100

export const jobName = (n: number) => `${definition}-${String(n).padStart(6, '0')}`

/** The tenant of the n-th job: a third of the jobs is in the default tenant. */
export const tenantOf = (n: number) => (n % 3 === 0 ? 'default' : `tenant-${n % 40}`)
export const tenantSql = (n: string) => `CASE WHEN ${n} % 3 = 0 THEN 'default' ELSE 'tenant-' || (${n} % 40) END`

/** Which job a run is of, from 0 on. */
export const jobSql = ({ jobs }: Amount) => `CASE WHEN n % 2 = 0 THEN n / 2 % ${busyJobs} ELSE n * 7919 % ${jobs} END`

/** When a run was due and created, in milliseconds since the epoch. */
export function atSql({ occurrences }: Amount, now: number): string {
  const stepMs = Math.floor((days * dayMs) / occurrences)
  return `(${now - days * dayMs} + n * ${stepMs})`
}

export const stateSql = `CASE WHEN n % 211 = 0 THEN 'dead' WHEN n % 53 = 0 THEN 'failed' WHEN n % 97 = 0 THEN 'canceled'
  WHEN n % 89 = 0 THEN 'skipped' WHEN n % 10007 = 0 THEN 'missed' ELSE 'completed' END`

export const keySql = `'order-' || n`
/** About a thousand runs of each, over all jobs. */
export const entitySql = `'customer-' || (n % 9973)`
export const causeSql = `'cause-' || (n % 17)`
export const errorSql = `CASE WHEN n % 211 = 0 OR n % 53 = 0 THEN '{"name":"Error","message":"connect ECONNREFUSED 10.0.0.' || (n % 17) || '"}' END`
export const wasRunSql = `(n % 211 = 0 OR n % 53 = 0 OR (n % 97 <> 0 AND n % 89 <> 0 AND n % 10007 <> 0))`
