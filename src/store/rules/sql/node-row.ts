// A node as a row: the same columns in every SQL store.
import type { NodeRecord } from '../../store.ts'

export interface NodeRow {
  readonly boot: string
  readonly name: string
  readonly pid: number
  readonly concurrency: number
  readonly kinds: string
  readonly version: string
  readonly tz: string
  readonly ttl_ms: number
  readonly release: number | null
  readonly declares: string
  /** A number where there are no booleans. */
  readonly picks: boolean | number
  readonly parts: string
  readonly draining: boolean | number
  readonly started_at: number
  readonly beat_at: number
  readonly beats: number
  readonly running: number
}

export function nodeRecord(row: NodeRow): NodeRecord {
  return {
    boot: row.boot,
    name: row.name,
    pid: row.pid,
    concurrency: row.concurrency,
    kinds: JSON.parse(row.kinds),
    version: row.version,
    tz: row.tz,
    ttlMs: row.ttl_ms,
    release: row.release,
    declares: JSON.parse(row.declares),
    picks: Boolean(row.picks),
    parts: JSON.parse(row.parts),
    isDraining: Boolean(row.draining),
    startedAt: row.started_at,
    beatAt: row.beat_at,
    beats: row.beats,
    running: row.running,
  }
}
