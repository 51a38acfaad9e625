// Keeps the write-ahead log short. Copying its pages into the database takes 10 to 60 ms, in which the process could start no work: a
// thread copies them while the process goes on, and the process itself only the few that were written meanwhile.
import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Connection } from './connection.ts'

/** Pages that are not yet in the database when the thread is asked to copy them. */
const copiedPages = 1000
/** The length of a log that is begun anew: all of it must be copied at a moment at which nothing is written. */
const longestPages = 4000
/** Commits between two looks at the log. */
const commitsPerLook = 32

export class Log {
  readonly #connection: Connection
  #worker: Worker | null = null
  #isCopying = false
  #commits = 0

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Called after each commit. */
  committed(): void {
    this.#commits += 1
    if (this.#commits % commitsPerLook !== 0 || this.#isCopying) return
    const { log, checkpointed } = this.#checkpoint('NOOP')
    if (log - checkpointed < copiedPages) return
    this.#isCopying = true
    this.#worker ??= this.#start()
    this.#worker.postMessage(null)
  }

  /** Ends the thread. The connection that is closed last removes the log. */
  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #start(): Worker {
    const file = new URL(`log-thread${extname(import.meta.url)}`, import.meta.url)
    const worker = new Worker(file, { workerData: this.#connection.path, name: 'punctual-log' })
    worker.unref()
    worker.on('message', () => this.#finish())
    // Without a thread the process copies all pages by itself.
    worker.on('error', () => {
      this.#worker = null
      this.#finish()
    })
    return worker
  }

  /** Copies what was written while the thread was at work, so the next commit begins the log anew. */
  #finish(): void {
    this.#isCopying = false
    const { db } = this.#connection
    if (db.isOpen && !db.isTransaction && this.#checkpoint('NOOP').log >= longestPages) this.#checkpoint('PASSIVE')
  }

  #checkpoint(mode: 'NOOP' | 'PASSIVE'): { log: number; checkpointed: number } {
    return this.#connection.one(`PRAGMA wal_checkpoint(${mode})`) as { log: number; checkpointed: number }
  }
}
