import { type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../../time/clock.ts'
import type { Hint } from '../store.ts'
import type { Connection } from './connection.ts'

// A wake-up of the process costs more than the look itself: every 10 ms they would take over 1 % of a core.
const pollMs = 100
const pollUnwatchedMs = 25

/** What of the file the last look saw. */
interface Seen {
  /** The first row of each kind and priority. */
  readonly heads: ReadonlyMap<string, { readonly dueAt: number; readonly ref: number }>
  readonly cancel: number
  readonly job: number
  readonly pause: number
}

type ReadyHead = [kind: number, priority: number, dueAt: number, ref: number]

/**
 * Notices what other processes write, while somebody listens. The system tells when the log of the database grows, and a slow
 * poll makes up for systems that do not tell. The file's data version then says whether it was another connection, and only
 * in that case are rows looked at.
 */
export class Watch {
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #connection: () => Connection | null
  #clock: Clock | null = null
  #stopPoll: (() => void) | null = null
  #watched: { readonly connection: Connection; readonly watcher: FSWatcher | null } | null = null
  #looked: { readonly connection: Connection; readonly version: number; readonly seen: Seen } | null = null
  #isAwaited = false

  constructor(connection: () => Connection | null) {
    this.#connection = connection
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    this.#poll()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  start(clock: Clock): void {
    this.#clock = clock
    this.#poll()
  }

  stop(): void {
    this.#stopPoll?.()
    this.#watched?.watcher?.close()
    this.#stopPoll = null
    this.#watched = null
    this.#looked = null
  }

  tell(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }

  #poll(): void {
    const connection = this.#connection()
    if (this.#stopPoll || !this.#clock || this.#listeners.size === 0 || connection?.isShared === false) return
    if (connection) this.#watchLog(connection)
    this.#look()
    this.#stopPoll = this.#clock.poll(this.#watched?.watcher ? pollMs : pollUnwatchedMs, () => {
      this.#stopPoll = null
      this.#poll()
    })
  }

  #watchLog(connection: Connection): void {
    if (this.#watched?.connection === connection) return
    this.#watched?.watcher?.close()
    this.#watched = { connection, watcher: null }
    try {
      const watcher = watch(`${connection.path}-wal`, { persistent: false }, () => this.#lookSoon())
      watcher.on('error', () => watcher.close())
      this.#watched = { connection, watcher }
    } catch {
      // Watches are a scarce good on some systems; without one the poll is faster.
    }
  }

  /** One look for all that a burst of writes told. */
  #lookSoon(): void {
    if (this.#isAwaited) return
    this.#isAwaited = true
    this.#clock?.soon(() => {
      this.#isAwaited = false
      if (this.#listeners.size > 0) this.#look()
    })
  }

  #look(): void {
    const connection = this.#connection()
    if (!connection) return
    try {
      const [version] = connection.one<[number]>('PRAGMA data_version') as [number]
      const before = this.#looked?.connection === connection ? this.#looked : null
      if (before?.version === version) return
      const seen = look(connection)
      this.#looked = { connection, version, seen }
      if (before) this.tell(changes(before.seen, seen))
    } catch {
      // A hint is worth no error: the verbs will meet the same trouble and report it.
    }
  }
}

// By equality first: of a comparison of pairs SQLite only uses the first column, and would walk all rows of a kind.
const nextPriority = `SELECT kind, priority, due_at, ref FROM punctual_ready WHERE kind = ? AND priority > ?
  ORDER BY priority, due_at, ref LIMIT 1`
const nextKind = `SELECT kind, priority, due_at, ref FROM punctual_ready WHERE kind > ?
  ORDER BY kind, priority, due_at, ref LIMIT 1`

function look(connection: Connection): Seen {
  const heads = new Map<string, { dueAt: number; ref: number }>()
  let row = connection.one<ReadyHead>(nextKind, -1)
  while (row) {
    const [kind, priority, dueAt, ref] = row
    heads.set(`${kind} ${priority}`, { dueAt, ref })
    row = connection.one<ReadyHead>(nextPriority, kind, priority) ?? connection.one<ReadyHead>(nextKind, kind)
  }
  const newest = (table: string) => connection.one<[number | null]>(`SELECT max(seq) FROM ${table}`)?.[0] ?? 0
  const pause = connection.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'pause_revision'")?.[0] ?? 0
  return { heads, cancel: newest('punctual_cancel_request'), job: newest('punctual_job_version'), pause }
}

function changes(before: Seen, after: Seen): Hint[] {
  const dues = [...after.heads].filter(([lane, { dueAt, ref }]) => {
    const head = before.heads.get(lane)
    return head?.dueAt !== dueAt || head.ref !== ref
  })
  const hints: Hint[] = []
  if (dues.length > 0) hints.push({ kind: 'due', at: Math.min(...dues.map(([, head]) => head.dueAt)) })
  if (after.cancel > before.cancel) hints.push({ kind: 'cancel' })
  if (after.job > before.job || after.pause > before.pause) hints.push({ kind: 'job' })
  return hints
}
