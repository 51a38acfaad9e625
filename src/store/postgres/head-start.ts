// A node that makes work which is due, and has room for it, claims it by a statement right behind the one that makes it. The
// connection takes them in order, so that the claim finds the work, and neither waits for the other's way to the server and back.
import type { Clock } from '../../time/clock.ts'
import type { Created } from './create.ts'
import type { Follow } from './database.ts'

interface Creating {
  readonly follow: Follow
  /** When whoever makes the work has been answered: nothing of it starts before. */
  readonly answered: Promise<void>
  isFollowed: boolean
}

export interface Led {
  readonly created: Created
  /** A claim has been sent behind it: nobody in this process has to be told. */
  readonly isFollowed: boolean
}

export class HeadStart {
  readonly #clock: Clock
  #creating: Creating | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Creates by `act`; `tell` is called when that was sent, and has who may claim begin. */
  async lead(tell: () => void, act: (onSent: (follow: Follow) => void) => Promise<Created>): Promise<Led> {
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    let own: Creating | null = null
    try {
      const created = await act((follow) => {
        const isFirst = own === null
        own = { follow, answered, isFollowed: false }
        this.#creating = own
        // That more than one statement is needed is rare, and only the last one makes the work.
        if (isFirst) tell()
      })
      const isWhole = created.answers.every(({ outcome }) => outcome === 'created')
      return { created, isFollowed: isWhole && (own as Creating | null)?.isFollowed === true }
    } finally {
      if (this.#creating === own) this.#creating = null
      // By then all that follows from the answer without waiting has been done.
      this.#clock.soon(resolve)
    }
  }

  /** What a claim is to be sent by, if work is being made just now: it is the only one to follow it. */
  take(): Pick<Creating, 'follow' | 'answered'> | null {
    const creating = this.#creating
    this.#creating = null
    if (creating) creating.isFollowed = true
    return creating
  }
}
