// What jobs say and what is paused. Both change seldom and are asked for with every occurrence, so that they are kept, and
// statements check whether what was kept still holds.
import type { VersionRecord } from '../../model/job.ts'
import type { PauseRecord } from '../../model/pause.ts'
import { type VersionRow, versionColumns, versionRecord } from '../rows/job-row.ts'
import { type PauseRow, pauseColumns, pauseRecord } from '../rows/pause-row.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'

const seriesKept = 10_000

export class Facts {
  /** All versions of a series, the oldest first. Versions never change: there can only be newer ones. */
  readonly #versions = new Map<number, readonly VersionRecord[]>()
  #pauses: { readonly revision: number; readonly all: readonly PauseRecord[] } = { revision: -1, all: [] }

  /** The versions as last read; undefined when they never were. */
  versions(series: number): readonly VersionRecord[] | undefined {
    return this.#versions.get(series)
  }

  /** The number of the newest version as last read; 0 where there is no job. */
  newest(series: number): number {
    return this.#versions.get(series)?.at(-1)?.version ?? 0
  }

  /** Reads what has been added to these series. */
  async refresh(session: Session, series: Iterable<number>): Promise<void> {
    const refs = [...new Set(series)]
    if (refs.length === 0) return
    const newest = refs.map((ref) => this.newest(ref))
    const rows = await session.all<[...VersionRow, series: number]>(
      `SELECT ${versionColumns}, v.series
        FROM unnest($1::int[], $2::int[]) k (series, newest)
        JOIN punctual.job_version v ON v.series = k.series AND v.version > k.newest ORDER BY v.series, v.version`,
      [column(refs), column(newest)],
    )
    const added = Map.groupBy(rows, (row) => row[5])
    for (const [at, ref] of refs.entries()) this.#add(ref, newest[at] as number, (added.get(ref) ?? []).map(versionRecord))
    // Those that nobody has asked for the longest are forgotten first.
    for (const ref of this.#versions.keys()) {
      if (this.#versions.size <= seriesKept) break
      this.#versions.delete(ref)
    }
  }

  /** Adds what was read after the version `after`. Meanwhile somebody else may have read the same, or those before are forgotten. */
  #add(ref: number, after: number, added: readonly VersionRecord[]): void {
    const newest = this.newest(ref)
    if (newest < after) return
    const known = this.#versions.get(ref) ?? []
    this.#versions.delete(ref)
    this.#versions.set(ref, [...known, ...added.filter(({ version }) => version > newest)])
  }

  get pauseRevision(): number {
    return this.#pauses.revision
  }

  get pauses(): readonly PauseRecord[] {
    return this.#pauses.all
  }

  /** All pauses as of a revision that was just read. */
  async pausesAt(session: Session, revision: number): Promise<readonly PauseRecord[]> {
    if (this.#pauses.revision === revision) return this.#pauses.all
    const all = revision === 0 ? [] : await readPauses(session)
    this.#pauses = { revision, all }
    return all
  }
}

export async function readPauses(session: Session, since?: number): Promise<readonly PauseRecord[]> {
  const rows = await session.all<PauseRow>(
    `SELECT ${pauseColumns} FROM punctual.pause
      WHERE $1::float8 IS NULL OR to_at IS NULL OR to_at > $1 ORDER BY id`,
    [since ?? null],
  )
  return rows.map(pauseRecord)
}
