import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ServiceNumbers } from './service.process.ts'

/** A running timer service in a separate process. */
export class Service {
  readonly #child: ChildProcess

  /** Set up, and not consuming yet. */
  static async open(storeUrl: string, brokerUrl: string): Promise<Service> {
    const { BENCH_PROFILES: profiles } = process.env
    const execArgv = profiles ? ['--cpu-prof', `--cpu-prof-dir=${profiles}`] : []
    const file = fileURLToPath(new URL('service.process.ts', import.meta.url))
    const child = fork(file, [storeUrl, brokerUrl], { serialization: 'advanced', execArgv })
    await once(child, 'message')
    return new Service(child)
  }

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  start(): Promise<ServiceNumbers> {
    return this.#say('start')
  }

  numbers(): Promise<ServiceNumbers> {
    return this.#say('numbers')
  }

  async stop(): Promise<void> {
    this.#child.send('stop')
    await once(this.#child, 'exit')
  }

  async #say(word: string): Promise<ServiceNumbers> {
    this.#child.send(word)
    const [numbers] = await once(this.#child, 'message')
    return numbers
  }
}
