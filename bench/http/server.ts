import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerFigures } from './server.process.ts'

/** A server with an empty file, ended and removed with `close`. */
export class BenchServer {
  readonly url: string
  readonly #child: ChildProcess
  readonly #folder: string

  /** `work`: it runs what is enqueued; `store`: it only stores it. */
  static async start(mode: 'work' | 'store'): Promise<BenchServer> {
    const folder = mkdtempSync(join(tmpdir(), 'punctual-http-'))
    const child = fork(new URL('server.process.ts', import.meta.url), [join(folder, 'bench.db'), mode])
    const [{ url }] = (await once(child, 'message')) as [{ readonly url: string }]
    return new BenchServer(url, child, folder)
  }

  private constructor(url: string, child: ChildProcess, folder: string) {
    this.url = url
    this.#child = child
    this.#folder = folder
  }

  /** The figures since the last call. `rate`: how many occurrences a second it enqueues itself from now on. */
  async figures(rate?: number): Promise<ServerFigures> {
    this.#child.send({ ...(rate !== undefined && { rate }) })
    const [figures] = (await once(this.#child, 'message')) as [ServerFigures]
    return figures
  }

  async close(): Promise<void> {
    this.#child.send({ isEnd: true })
    await once(this.#child, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
