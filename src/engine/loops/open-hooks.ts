import { errorText } from '../../model/error-record.ts'
import type { RescueAnswer } from '../../store/store.ts'
import type { Env } from '../env.ts'
import type { Recorder } from '../record/recorder.ts'
import { runEndHook } from '../turn/unattended-end.ts'

type OpenHook = RescueAnswer['openHooks'][number]

/** Runs `onComplete` of ended work for which no node has done so, as many at once as the node runs occurrences. */
export class OpenHooks {
  readonly #env: Env
  readonly #recorder: Recorder
  #waiting: OpenHook[] = []
  #underWay = 0
  #stopping = new AbortController()
  #idleWaiters: (() => void)[] = []

  constructor(env: Env, recorder: Recorder) {
    this.#env = env
    this.#recorder = recorder
  }

  add(ends: readonly OpenHook[]): void {
    this.#waiting.push(...ends)
    this.#fill()
  }

  /** Resolves when none is under way. */
  idle(): Promise<void> {
    return this.#underWay === 0 ? Promise.resolve() : new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  /** Leaves the rest to other nodes. */
  abandon(): void {
    this.#waiting = []
    this.#stopping.abort()
    this.#stopping = new AbortController()
  }

  #fill(): void {
    while (this.#underWay < this.#env.options.concurrency) {
      const next = this.#waiting.shift()
      if (!next) break
      this.#underWay += 1
      void this.#add(next, this.#stopping.signal).then(() => {
        this.#underWay -= 1
        this.#fill()
      })
    }
    if (this.#underWay === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  async #add({ ref, id }: OpenHook, until: AbortSignal): Promise<void> {
    try {
      if ((await runEndHook(this.#env, id, until)) === 'done') await this.#recorder.hookDone(ref)
    } catch (error) {
      // The note stays, and is handed out again.
      this.#env.log.warn('onComplete of ended work could not be run', { occurrence: id, error: errorText(error) })
    }
  }
}
