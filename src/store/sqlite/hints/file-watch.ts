import { type FSWatcher, watch } from 'node:fs'
import type { Clock } from '../../../time/clock.ts'
import type { Hint, Hints } from '../../store.ts'
import type { Connection } from '../connection/connection.ts'
import { type FileState, hintsBetween, readFileState } from './file-state.ts'

// A wake-up of the process costs more than the look itself: every 10 ms they would take over 1 % of a core.
const pollMs = 100
const pollUnwatchedMs = 25

/**
 * Notices writes of other processes, while there are listeners. The system reports when the log of the database grows, and a slow
 * poll makes up for systems that do not. The file's data version then says whether it was another connection, and only
 * in that case are rows looked at.
 */
export class FileWatch implements Hints {
  readonly isLive = true
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #connection: () => Connection | null
  #clock: Clock | null = null
  #stopPoll: (() => void) | null = null
  #watched: { readonly connection: Connection; readonly watcher: FSWatcher | null } | null = null
  #seen: { readonly connection: Connection; readonly version: number; readonly state: FileState } | null = null
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

  /** Other processes look at the file itself. */
  async wake(): Promise<void> {
    this.send([{ kind: 'due', at: this.#now() }])
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
    this.#seen = null
  }

  send(hints: readonly Hint[]): void {
    for (const hint of hints) for (const listener of this.#listeners) listener(hint)
  }

  #now(): number {
    return Math.floor(this.#clock?.wall() ?? 0)
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

  /** One look for a burst of writes. */
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
      const { data_version: version } = connection.one<{ data_version: number }>('PRAGMA data_version') as {
        data_version: number
      }
      const before = this.#seen?.connection === connection ? this.#seen : null
      if (before?.version === version) return
      const after = readFileState(connection, this.#now(), before?.state)
      this.#seen = { connection, version, state: after }
      if (before) this.send(hintsBetween(before.state, after))
    } catch {
      // A hint is worth no error: the verbs will meet the same trouble and report it.
    }
  }
}
