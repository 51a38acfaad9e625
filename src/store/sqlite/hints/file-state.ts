// Due work, cancels and jobs of the file at one instant, and the hints that follow from what has changed since the last.
import type { Hint } from '../../store.ts'
import type { Connection } from '../connection/connection.ts'

export interface FileState {
  readonly now: number
  /** The first row of each kind and priority, and of each kind at the door. */
  readonly heads: ReadonlyMap<string, { readonly dueAt: number; readonly ref: number }>
  /** The newest numbers of what only grows. */
  readonly cancel: number
  readonly job: number
  readonly pause: number
  readonly clusterEnds: number
  /** When the first key with a line is free. */
  readonly freeAt: number | null
  /** The nodes of cancels since the look before. */
  readonly canceled: readonly string[]
}

interface ReadyHead {
  readonly kind: number
  readonly priority: number
  readonly due_at: number
  readonly ref: number
}

// By equality first: of a comparison of pairs SQLite only uses the first column, and would walk all rows of a kind.
const nextPriority = `SELECT kind, priority, due_at, ref FROM punctual_ready WHERE kind = ? AND priority > ?
  ORDER BY priority, due_at, ref LIMIT 1`
const nextKind = `SELECT kind, priority, due_at, ref FROM punctual_ready WHERE kind > ?
  ORDER BY kind, priority, due_at, ref LIMIT 1`
const nextArrival =
  'SELECT kind, -1 AS priority, due_at, ref FROM punctual_arrival WHERE kind > ? ORDER BY kind, due_at, ref LIMIT 1'

const selectNumbers = `SELECT
  (SELECT seq FROM sqlite_sequence WHERE name = 'punctual_cancel_request') AS cancel,
  (SELECT max(seq) FROM punctual_job_version) AS job,
  (SELECT value FROM punctual_meta WHERE name = 'pause_revision') AS pause,
  (SELECT value FROM punctual_meta WHERE name = 'cluster_ends') AS cluster_ends`

type Numbers = Record<'cancel' | 'job' | 'pause' | 'cluster_ends', number | null>

const firstFree = `SELECT r.free_at FROM punctual_release r
  WHERE EXISTS (SELECT 1 FROM punctual_waiting w WHERE w.key = r.key) ORDER BY r.free_at LIMIT 1`

export function readFileState(connection: Connection, now: number, before: FileState | undefined): FileState {
  const numbers = connection.one<Numbers>(selectNumbers)
  const cancel = numbers?.cancel ?? 0
  const canceled =
    before && cancel > before.cancel
      ? connection.all<{ node: string }>('SELECT node FROM punctual_cancel_request WHERE seq > ?', before.cancel)
      : []
  return {
    now,
    heads: headsOf(connection),
    cancel,
    job: numbers?.job ?? 0,
    pause: numbers?.pause ?? 0,
    clusterEnds: numbers?.cluster_ends ?? 0,
    freeAt: connection.one<{ free_at: number }>(firstFree)?.free_at ?? null,
    canceled: [...new Set(canceled.map(({ node }) => node))],
  }
}

function headsOf(connection: Connection): FileState['heads'] {
  const heads = new Map<string, { dueAt: number; ref: number }>()
  const add = ({ kind, priority, due_at, ref }: ReadyHead) => heads.set(`${kind} ${priority}`, { dueAt: due_at, ref })
  let row = connection.one<ReadyHead>(nextKind, -1)
  while (row) {
    add(row)
    row = connection.one<ReadyHead>(nextPriority, row.kind, row.priority) ?? connection.one<ReadyHead>(nextKind, row.kind)
  }
  for (row = connection.one<ReadyHead>(nextArrival, -1); row; row = connection.one<ReadyHead>(nextArrival, row.kind)) add(row)
  return heads
}

export function hintsBetween(before: FileState, after: FileState): Hint[] {
  const dues: number[] = []
  for (const [name, { dueAt, ref }] of after.heads) {
    const head = before.heads.get(name)
    if (head?.dueAt !== dueAt || head.ref !== ref) dues.push(dueAt)
  }
  if (after.freeAt !== null && after.freeAt !== before.freeAt) dues.push(after.freeAt)
  if (after.clusterEnds > before.clusterEnds) dues.push(after.now)
  return [
    ...(dues.length > 0 ? [{ kind: 'due' as const, at: Math.min(...dues) }] : []),
    ...after.canceled.map((node) => ({ kind: 'cancel' as const, node })),
    ...(after.job > before.job || after.pause > before.pause ? [{ kind: 'job' as const }] : []),
  ]
}
