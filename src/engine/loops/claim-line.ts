import type { ClaimAnswer } from '../../store/store.ts'
import type { JoinedClaim } from '../record/joined-claims.ts'
import type { Claimed, Claimer } from './claimer.ts'

/** Sends one claim at a time, by itself or with another write. */
export class ClaimLine {
  readonly #claimer: Claimer
  #last: Promise<void> = Promise.resolve()
  #asked = 0

  constructor(claimer: Claimer) {
    this.#claimer = claimer
  }

  /** Resolves when the claim under way, if any, has been answered. */
  get answered(): Promise<void> {
    return this.#last
  }

  /** A claim after those before it, which may leave it no room. `take` is called before the next is sent. */
  claim(room: () => number, dueBy: number | undefined, take: (claimed: Claimed) => void): Promise<Claimed | null> {
    this.#asked += 1
    const claimed = this.#last.then(async () => {
      const limit = room()
      const answer = limit > 0 ? await this.#claimer.claim(limit, dueBy) : null
      if (answer) take(answer)
      return answer
    })
    const done = () => {
      this.#asked -= 1
    }
    this.#last = claimed.then(done, done)
    return claimed
  }

  /** A claim that another write carries; null while another is under way. `take` gets null when the claim was not made. */
  joined(limit: number, take: (claimed: Claimed | null) => void): JoinedClaim | null {
    const joined = this.#asked === 0 ? this.#claimer.joined(limit) : null
    if (!joined) return null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#asked += 1
    this.#last = promise
    const end = (claimed: Claimed | null) => {
      this.#asked -= 1
      resolve()
      take(claimed)
    }
    return {
      request: joined.request,
      taken: (answer: ClaimAnswer | null) => {
        if (!answer) this.#claimer.leftOut(joined.pending)
        end(answer && this.#claimer.taken(joined.pending, answer))
      },
      failed: (error) => {
        this.#claimer.failed(error)
        end(null)
      },
    }
  }
}
