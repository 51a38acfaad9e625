import type { NodeRecord, NodesRequest } from '../../store.ts'
import { drainAudit } from '../audit.ts'
import { appendAudit } from './audit.ts'
import { type Clock, rows, type Steps } from './steps.ts'

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

/** Marks the nodes of a boot id or name, and returns those that did not drain before. */
export function* drainNodes(clock: Clock, { node, audit }: NonNullable<NodesRequest['drain']>): Steps<readonly string[]> {
  const mark = 'UPDATE punctual.node SET draining = true WHERE NOT draining AND (boot = $1 OR name = $1) RETURNING boot'
  const boots = (yield* rows<{ boot: string }>(mark, [node])).map(({ boot }) => boot)
  yield* appendAudit(clock, [drainAudit(audit, node, boots)])
  return boots
}
