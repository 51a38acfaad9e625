import type { PauseRecord } from '../../../model/pause.ts'

export type MetaName =
  | 'alive_since'
  | 'last_alive_at'
  | 'deleted_ref'
  | 'counted_ref'
  | 'pause_revision'
  | 'cluster_full'
  | 'cluster_ends'

/** Tables that few occurrences have a row in. */
export type RareTable = 'punctual_start' | 'punctual_cancel_request' | 'punctual_tombstone' | 'punctual_log'

/**
 * Facts that this connection has read or written and that no other has changed since: a transaction reads them without a statement.
 * The connection drops them when the file's data version has changed, and when a transaction is rolled back.
 */
export class Cache {
  /** The greatest ref of all occurrences, deleted ones included. */
  lastRef: number | null = null
  /** The kinds that some node serves. */
  served: ReadonlySet<string> | null = null
  pauses: readonly PauseRecord[] | null = null
  readonly meta = new Map<MetaName, number>()
  readonly emptyTables = new Set<RareTable>()
  readonly absentKinds = new Set<string>()
  /** By series: the version in force, and when a later one takes effect. */
  readonly versions = new Map<number, { readonly version: number; readonly until: number | null }>()
  readonly lastRuns = new Map<number, number | null>()
}
