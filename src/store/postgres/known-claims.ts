/** What settling must know of a member. */
export interface KnownMember {
  readonly turn: number
  readonly series: number
  readonly dueAt: number
  /** Nothing but its end row and its claim is written when it ends. */
  readonly isPlain: boolean
}

/** A claim that was made through this store object. Its members never change, so that a copy holds for as long as its row does. */
export interface KnownClaim {
  readonly id: string
  readonly token: string
  /** Those that have not been ended yet. */
  readonly members: Map<number, KnownMember>
}

const mostKnown = 10_000

/** The claims made through this store object: their members need not be read again when they are settled. */
export class KnownClaims {
  readonly #claims = new Map<string, KnownClaim>()

  get(id: string): KnownClaim | undefined {
    return this.#claims.get(id)
  }

  add(claim: KnownClaim): void {
    this.#claims.set(claim.id, claim)
    const [oldest] = this.#claims.keys()
    if (this.#claims.size > mostKnown && oldest !== undefined) this.#claims.delete(oldest)
  }

  delete(id: string): void {
    this.#claims.delete(id)
  }
}
