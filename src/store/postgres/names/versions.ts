// The versions of jobs. They never change: there can only be newer ones, and statements check whether what was kept is still the newest.
import type { VersionRecord } from '../../../model/job.ts'
import { type VersionRow, versionRecord } from '../../rules/sql/jobs.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'

const seriesKept = 10_000

export class Versions {
  readonly #known = new Map<number, readonly VersionRecord[]>()

  /** All versions of a series as last read, the oldest first; undefined when they never were. */
  of(series: number): readonly VersionRecord[] | undefined {
    return this.#known.get(series)
  }

  /** The number of the newest version as last read; 0 where there is no job. */
  newest(series: number): number {
    return this.#known.get(series)?.at(-1)?.version ?? 0
  }

  /** Reads what has been added to these series. */
  async refresh(session: Session, series: Iterable<number>): Promise<void> {
    const refs = [...new Set(series)]
    if (refs.length === 0) return
    const newest = refs.map((ref) => this.newest(ref))
    const rows = await session.rows<VersionRow & { readonly series: number }>(
      `SELECT v.* FROM unnest($1::int[], $2::int[]) k (series, newest)
        JOIN punctual.job_version v ON v.series = k.series AND v.version > k.newest ORDER BY v.series, v.version`,
      [column(refs), column(newest)],
    )
    const added = Map.groupBy(rows, ({ series }) => series)
    for (const [at, ref] of refs.entries()) this.#add(ref, newest[at] as number, (added.get(ref) ?? []).map(versionRecord))
    // The least recently used are forgotten first.
    for (const ref of this.#known.keys()) {
      if (this.#known.size <= seriesKept) break
      this.#known.delete(ref)
    }
  }

  /** Adds what was read after the version `after`. Meanwhile another call may have read the same, or those before are forgotten. */
  #add(ref: number, after: number, added: readonly VersionRecord[]): void {
    const newest = this.newest(ref)
    if (newest < after) return
    const known = this.#known.get(ref) ?? []
    this.#known.delete(ref)
    this.#known.set(ref, [...known, ...added.filter(({ version }) => version > newest)])
  }
}
