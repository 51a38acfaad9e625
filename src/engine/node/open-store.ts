import type { Env } from '../env.ts'

/** The store of a node, open or not. It opens once, however many callers need it, and can be opened again after a failure. */
export class OpenStore {
  readonly #env: Pick<Env, 'store' | 'clock' | 'random'>
  #opening: Promise<void> | null = null
  #isOpen = false

  constructor(env: Pick<Env, 'store' | 'clock' | 'random'>) {
    this.#env = env
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): Promise<void> {
    const { store, clock, random } = this.#env
    this.#opening ??= store.open({ clock, random }).then(
      () => {
        this.#isOpen = true
      },
      (error: unknown) => {
        this.#opening = null
        throw error
      },
    )
    return this.#opening
  }

  async close(): Promise<void> {
    const wasOpen = this.#isOpen
    this.#isOpen = false
    this.#opening = null
    if (wasOpen) await this.#env.store.close()
  }
}
