import { isDeepStrictEqual } from 'node:util'
import type { Punctual } from '../../src/client/punctual.ts'
import { occurrence } from './cluster.ts'

/** Waits for results in a process that only looks on: each must end with what the record says. */
export class ResultWaits {
  readonly #watcher: Punctual
  readonly #ends = new Map<string, { value?: unknown; code?: string }>()

  constructor(watcher: Punctual) {
    this.#watcher = watcher
  }

  begin(id: string): void {
    this.#ends.set(id, { code: 'nothing' })
    void this.#watcher.result(id).then(
      (value) => this.#ends.set(id, { value }),
      ({ code }) => this.#ends.set(id, { code }),
    )
  }

  async faults(): Promise<string[]> {
    const faults: string[] = []
    for (const [id, { value, code }] of this.#ends) {
      const { state, result } = await occurrence(this.#watcher, id)
      const isSame =
        code === undefined ? state === 'completed' && isDeepStrictEqual(value, result) : code === `occurrence.${state}`
      // A person may have retried what was dead.
      if (!isSame && code !== 'occurrence.dead')
        faults.push(`${id} is ${state}, and its result came as ${JSON.stringify(value ?? code)}`)
    }
    return faults
  }
}
