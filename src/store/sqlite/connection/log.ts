// Keeps the write-ahead log short. Copying its pages into the database takes 10 to 60 ms, in which the process could start no work: a
// thread copies them while the process goes on, and the process itself only the few that were written meanwhile.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Connection } from './connection.ts'

/** The thread starts to copy at so many pages that are not yet in the database. */
const copiedPages = 1000
/** SQLite begins a log anew once all of it is in the database. From this length on the thread tries that in every pause of writing. */
const longPages = 4000
/** At this length the process copies what the thread has left, since there was no pause. */
const longerPages = 8000
/** A log of this length is copied by the process alone, if the thread does not get on. */
const longestPages = 16_000
/** Commits between two looks at the log. */
const commitsPerLook = 32

export class Log {
  readonly #connection: Connection
  /** 1 while the thread copies. Shared, since a process that is busy reads no messages. */
  readonly #isCopying = new Int32Array(new SharedArrayBuffer(4))
  #worker: Worker | null = null
  #commits = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Called after each commit. */
  committed(): void {
    this.#commits += 1
    if (this.#commits % commitsPerLook !== 0) return
    const { log, checkpointed } = this.#connection.one('PRAGMA wal_checkpoint(NOOP)') as { log: number; checkpointed: number }
    const left = log - checkpointed
    const isDue = left >= copiedPages || (log >= longPages && left > 0)
    if (log >= longestPages || (log >= longerPages && left < copiedPages / 2))
      this.#connection.one('PRAGMA wal_checkpoint(PASSIVE)')
    else if (isDue && Atomics.compareExchange(this.#isCopying, 0, 0, 1) === 0) {
      this.#worker ??= this.#start()
      this.#worker.postMessage(null)
    }
  }

  /** Ends the thread. The connection that is closed last removes the log. */
  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #start(): Worker {
    const file = new URL(`log-thread${extname(import.meta.url)}`, import.meta.url)
    const workerData = { path: this.#connection.path, isCopying: this.#isCopying }
    const worker = new Worker(file, { workerData, name: 'punctual-log' })
    worker.unref()
    // Without its thread the process copies the longest logs.
    worker.on('error', () => {})
    return worker
  }
}
