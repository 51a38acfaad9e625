import { errorText } from '../../model/error-record.ts'
import type { RescueAnswer } from '../../store/store.ts'
import type { Env } from '../env.ts'
import type { Recorder } from '../record/recorder.ts'
import { hearEnd } from '../turn/unattended-end.ts'

type Unheard = RescueAnswer['unheard'][number]

/** Runs `onComplete` of ended work for which no node has done so, as many at once as the node runs occurrences. */
export class UnheardEnds {
  readonly #env: Env
  readonly #recorder: Recorder
  #waiting: Unheard[] = []
  #underWay = 0
  #stopping = new AbortController()
  #idleWaiters: (() => void)[] = []

  constructor(env: Env, recorder: Recorder) {
    this.#env = env
    this.#recorder = recorder
  }

  hear(ends: readonly Unheard[]): void {
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
      void this.#hear(next, this.#stopping.signal).then(() => {
        this.#underWay -= 1
        this.#fill()
      })
    }
    if (this.#underWay === 0) for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  async #hear({ ref, id }: Unheard, until: AbortSignal): Promise<void> {
    try {
      if ((await hearEnd(this.#env, id, until)) === 'done') await this.#recorder.heard(ref)
    } catch (error) {
      // The note stands, and is handed out again.
      this.#env.log.warn('onComplete of ended work could not be run', { occurrence: id, error: errorText(error) })
    }
  }
}
