import type { VersionRecord } from '../../model/job.ts'
import { type VersionRow, versionColumns, versionRecord } from '../rows/job-row.ts'
import type { Transaction } from './transaction.ts'

const selectVersion = `SELECT ${versionColumns} FROM punctual_job_version v`

export function readVersions(tx: Transaction, { tenant, name }: { tenant: string; name: string }): readonly VersionRecord[] {
  const series = tx.dictionary.findSeries(tenant, name)
  if (!series) return []
  return tx.all<VersionRow>(`${selectVersion} WHERE v.series = ? ORDER BY v.version`, series.ref).map(versionRecord)
}

/** The newest of the versions that have become effective at an instant. The first is in force from ever. */
export function numberInForce(tx: Transaction, series: number, at: number): number | null {
  const row = tx.one<[number]>(
    `SELECT version FROM punctual_job_version WHERE series = ? AND (effective_at <= ? OR version = 1) ORDER BY version DESC LIMIT 1`,
    series,
    at,
  )
  return row ? row[0] : null
}

/** Every version that is in force somewhere from an instant on, oldest first. */
export function versionsFrom(tx: Transaction, series: number, at: number): readonly VersionRecord[] {
  return tx
    .all<VersionRow>(
      `${selectVersion} WHERE v.series = ? AND (v.version = ? OR v.effective_at > ?) ORDER BY v.version`,
      series,
      numberInForce(tx, series, at),
      at,
    )
    .map(versionRecord)
}

export function findVersion(tx: Transaction, series: number, version: number): VersionRecord | null {
  const row = tx.one<VersionRow>(`${selectVersion} WHERE v.series = ? AND v.version = ?`, series, version)
  return row ? versionRecord(row) : null
}

export function addVersion(tx: Transaction, series: number, { version, spec, effectiveAt, createdAt, by }: TextVersion): void {
  tx.run(
    'INSERT INTO punctual_job_version (series, version, spec, effective_at, created_at, by_whom) VALUES (?, ?, ?, ?, ?, ?)',
    series,
    version,
    spec,
    effectiveAt,
    createdAt,
    by,
  )
}

/** A version whose spec is text already. */
type TextVersion = Omit<VersionRecord, 'spec'> & { readonly spec: string }
