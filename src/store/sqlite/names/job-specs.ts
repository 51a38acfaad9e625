import type { JobSpec } from '../../../model/job.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { keepsVersion } from '../../rules/verdict.ts'
import type { Transaction } from '../connection/transaction.ts'

const specsKept = 1000

/** The specs of jobs and their last runs. */
export class JobSpecs {
  readonly #tx: Transaction
  /** Rows that are claimed or created together are mostly of one job. */
  #last: { series: number; version: number | null; spec: JobSpec | undefined } | null = null

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** The job's spec for an occurrence: planned work keeps the version of its instant, enqueued work uses the one in force. */
  of(series: number, { version, source }: Pick<OccurrenceRecord, 'version' | 'source'>): JobSpec | undefined {
    const wanted = keepsVersion(source) ? version : null
    if (this.#last?.series === series && this.#last.version === wanted) return this.#last.spec
    const spec = this.ofVersion(series, wanted ?? this.versionInForce(series))
    this.#last = { series, version: wanted, spec }
    return spec
  }

  /** The number of the newest version that is effective now; 0 for a job that is not known. */
  versionInForce(series: number): number {
    const { cache, now } = this.#tx
    const before = cache.versions.get(series)
    if (before && (before.until === null || now < before.until)) return before.version
    const row = this.#tx.one<{ version: number; until: number | null }>(selectInForce, series, now) ?? { version: 0, until: null }
    cache.versions.set(series, row)
    return row.version
  }

  ofVersion(series: number, version: number): JobSpec | undefined {
    if (version === 0) return undefined
    const { specs } = this.#tx.connection
    const name = `${series}:${version}`
    const known = specs.get(name)
    if (known) return known
    const row = this.#tx.one<{ spec: string }>(
      'SELECT spec FROM punctual_job_version WHERE series = ? AND version = ?',
      series,
      version,
    )
    if (!row) return undefined
    const spec = JSON.parse(row.spec) as JobSpec
    if (specs.size >= specsKept) specs.clear()
    specs.set(name, spec)
    return spec
  }

  lastRunAt(series: number): number | null {
    const { lastRuns } = this.#tx.cache
    const known = lastRuns.get(series)
    if (known !== undefined) return known
    const row = this.#tx.one<{ last_run_at: number | null }>('SELECT last_run_at FROM punctual_series WHERE ref = ?', series)
    const noted = this.#tx.counts.lastRunAt(series)
    const at = noted === null ? (row?.last_run_at ?? null) : Math.max(noted, row?.last_run_at ?? noted)
    lastRuns.set(series, at)
    return at
  }
}

const selectInForce = `SELECT version,
    (SELECT min(effective_at) FROM punctual_job_version WHERE series = ?1 AND effective_at > ?2) AS until
  FROM punctual_job_version WHERE series = ?1 AND (
    effective_at <= ?2 OR version = (SELECT min(version) FROM punctual_job_version WHERE series = ?1)) ORDER BY version DESC LIMIT 1`
