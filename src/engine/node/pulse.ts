import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Logger } from '../../model/context.ts'
import type { Reopen } from '../../store/store.ts'
import { processMono } from '../../time/clock.ts'

/** Options of the thread. */
export interface PulseOptions {
  readonly reopen: Reopen
  readonly beatMs: number
  readonly ttlMs: number
}

/** The last beat of the process: the thread beats on for this boot id, from when it is late until `until` by `processMono`. */
export interface PulseNote {
  readonly boot: string
  readonly until: number
}

/**
 * A thread that beats while a handler blocks the process. It says nothing while the process beats by itself, and opens the store only
 * when it must. It ends with the process, and freezes with it.
 */
export class Pulse {
  readonly #options: PulseOptions
  readonly #log: Logger
  #worker: Worker | null = null

  constructor(options: PulseOptions, log: Logger) {
    this.#options = options
    this.#log = log
  }

  /** The process has beaten by itself, and may be blocked from now on for `boundMs`. */
  beaten(boot: string, boundMs: number): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage({ boot, until: processMono() + boundMs } satisfies PulseNote)
  }

  /** The node holds nothing under its last boot id any more. */
  rest(): void {
    this.#worker?.postMessage(null)
  }

  async stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #start(): Worker {
    const file = new URL(`pulse-thread${extname(import.meta.url)}`, import.meta.url)
    const worker = new Worker(file, { workerData: this.#options, name: 'punctual-pulse' })
    worker.unref()
    worker.on('error', (error) => {
      this.#log.warn('No thread beats for this process; a handler that blocks it for longer than the ttl may run again', {
        error: error.message,
      })
    })
    return worker
  }
}
