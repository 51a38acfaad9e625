import { announceUnattendedEnd, isEndNoticed } from '../engine/turn/unattended-end.ts'
import type { ClientEnv } from './client-env.ts'

/** A transaction that is open for longer, or was rolled back, is not looked for any more. */
const keptMs = 60_000

/** Pending work that was canceled in a caller's transaction. Its end is visible after the commit. */
export class CallerCancels {
  readonly #env: ClientEnv
  /** When each was canceled, by its id, the oldest first. */
  readonly #canceledAt = new Map<string, number>()

  constructor(env: ClientEnv) {
    this.#env = env
  }

  add(ids: readonly string[]): void {
    if (!isEndNoticed(this.#env)) return
    this.#forget()
    for (const id of ids) this.#canceledAt.set(id, this.#env.clock.mono())
  }

  /** Runs the hooks and emits the events of ended work. The rest may be in an open transaction, and is kept. */
  async announce(): Promise<void> {
    this.#forget()
    for (const [id, at] of [...this.#canceledAt]) {
      // Taken out first: no other call may announce the same.
      if (!this.#canceledAt.delete(id)) continue
      let isTold = false
      try {
        isTold = await announceUnattendedEnd(this.#env, { id }, { unlessRun: true })
      } finally {
        if (!isTold) this.#canceledAt.set(id, at)
      }
    }
  }

  #forget(): void {
    const now = this.#env.clock.mono()
    for (const [id, at] of this.#canceledAt) if (now - at > keptMs) this.#canceledAt.delete(id)
  }
}
