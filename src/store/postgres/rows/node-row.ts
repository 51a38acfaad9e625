// A node as a row of a table.
import type { NodeInfo, NodeRecord } from '../../store.ts'

export const nodeColumns = [
  'name',
  'pid',
  'concurrency',
  'kinds',
  'version',
  'tz',
  'ttl_ms',
  'release',
  'declares',
  'picks',
  'started_at',
  'beat_at',
  'beats',
  'running',
] as const

/** The boot, and behind it the columns above. `picks` may be a number where there are no booleans. */
export type NodeRow = [
  boot: string,
  name: string,
  pid: number,
  concurrency: number,
  kinds: string,
  version: string,
  tz: string,
  ttl: number,
  release: number | null,
  declares: string,
  picks: boolean | number,
  started: number,
  beat: number,
  beats: number,
  running: number,
]

export function nodeRecord([
  boot,
  name,
  pid,
  concurrency,
  kinds,
  version,
  tz,
  ttlMs,
  release,
  declares,
  picks,
  startedAt,
  beatAt,
  beats,
  running,
]: NodeRow): NodeRecord {
  return {
    boot,
    name,
    pid,
    concurrency,
    kinds: JSON.parse(kinds),
    version,
    tz,
    ttlMs,
    release,
    declares: JSON.parse(declares),
    picks: Boolean(picks),
    startedAt,
    beatAt,
    beats,
    running,
  }
}

/** The values of the columns from `name` to `declares`. */
export function nodeValues(node: NodeInfo): (string | number | null)[] {
  return [
    node.name,
    node.pid,
    node.concurrency,
    JSON.stringify(node.kinds),
    node.version,
    node.tz,
    node.ttlMs,
    node.release,
    JSON.stringify(node.declares),
  ]
}
