import type { Consumer } from '../broker.ts'
import { InFlight } from '../in-flight.ts'

export interface Stored {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly attempt: number
}

interface Member extends Consumer {
  readonly inFlight: InFlight
  readonly handle: (stored: Stored) => Promise<void>
}

/** Messages in order, and the consumers that share them. */
export class LocalQueue {
  #stored: Stored[] = []
  #members: Member[] = []

  push(stored: Stored): void {
    this.#stored.push(stored)
    this.#deliver()
  }

  /** @param handle Never rejects. */
  consume(maxInFlight: number, handle: (stored: Stored) => Promise<void>): Consumer {
    const inFlight = new InFlight(maxInFlight)
    const close = async () => {
      this.#members = this.#members.filter((one) => one !== member)
      await inFlight.idle()
    }
    const member: Member = { inFlight, handle, close }
    this.#members.push(member)
    this.#deliver()
    return member
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.close()))
  }

  #deliver(): void {
    while (this.#stored.length > 0) {
      const at = this.#members.findIndex(({ inFlight }) => !inFlight.isFull)
      const [member] = at < 0 ? [] : this.#members.splice(at, 1)
      if (!member) return
      // The next one has the next turn.
      this.#members.push(member)
      const stored = this.#stored.shift() as Stored
      const work = member.handle(stored)
      member.inFlight.add(work)
      void work.then(() => this.#deliver())
    }
  }
}
