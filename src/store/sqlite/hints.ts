import type { Clock } from '../../time/clock.ts'
import type { Hint } from '../store.ts'
import type { Connection } from './connection.ts'

const pollMs = 10

/** What of the file the last look saw. */
interface Seen {
  /** The first row of each kind and priority. */
  readonly heads: ReadonlyMap<string, { readonly dueAt: number; readonly ref: number }>
  readonly cancel: number
  readonly job: number
}

/**
 * Notices what other processes write: the file's data version, which costs next to nothing to read, is compared every few
 * milliseconds, and only where it has changed are the rows looked at. Runs while somebody listens.
 */
export class Watch {
  readonly #listeners = new Set<(hint: Hint) => void>()
  #connection: () => Connection | null
  #clock: Clock | null = null
  #cancel: (() => void) | null = null
  #looked: { readonly connection: Connection; readonly version: number; readonly seen: Seen } | null = null

  constructor(connection: () => Connection | null) {
    this.#connection = connection
  }

  subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    this.#schedule()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.stop()
    }
  }

  start(clock: Clock): void {
    this.#clock = clock
    this.#schedule()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#looked = null
  }

  tell(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }

  #schedule(): void {
    if (this.#cancel || !this.#clock || this.#listeners.size === 0) return
    this.#look()
    this.#cancel = this.#clock.timer(pollMs, () => {
      this.#cancel = null
      this.#schedule()
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

function look(connection: Connection): Seen {
  const next = connection.statement(
    'SELECT kind, priority, due_at, ref FROM punctual_ready WHERE (kind, priority) > (?, ?) ORDER BY kind, priority, due_at, ref LIMIT 1',
  )
  const heads = new Map<string, { dueAt: number; ref: number }>()
  let row = next.get(-1, -1)
  while (row) {
    const [kind, priority, dueAt, ref] = row as unknown as [number, number, number, number]
    heads.set(`${kind} ${priority}`, { dueAt, ref })
    row = next.get(kind, priority)
  }
  const newest = (table: string) => connection.one<[number | null]>(`SELECT max(seq) FROM ${table}`)?.[0] ?? 0
  return { heads, cancel: newest('punctual_cancel_request'), job: newest('punctual_job_version') }
}

function changes(before: Seen, after: Seen): Hint[] {
  const dues = [...after.heads].filter(([lane, { dueAt, ref }]) => {
    const head = before.heads.get(lane)
    return head?.dueAt !== dueAt || head.ref !== ref
  })
  const hints: Hint[] = []
  if (dues.length > 0) hints.push({ kind: 'due', at: Math.min(...dues.map(([, head]) => head.dueAt)) })
  if (after.cancel > before.cancel) hints.push({ kind: 'cancel' })
  if (after.job > before.job) hints.push({ kind: 'job' })
  return hints
}
