import type { ClaimRef, MemberRef } from '../store.ts'
import { findClaim, type KnownClaims, type StandingClaim } from './claims.ts'
import type { Member } from './place.ts'
import type { Transaction } from './transaction.ts'

/** Which claims stand, asked once for each claim and call. */
export class Fence {
  readonly #tx: Transaction
  readonly #known: KnownClaims
  readonly #claims = new Map<string, StandingClaim | null>()

  constructor(tx: Transaction, known: KnownClaims) {
    this.#tx = tx
    this.#known = known
  }

  /** The claim, when it stands and the token is right. */
  claim({ id, token }: ClaimRef): StandingClaim | null {
    const known = this.#claims.get(id)
    const claim = known === undefined ? findClaim(this.#tx, this.#known, id) : known
    if (known === undefined) this.#claims.set(id, claim)
    return claim?.token === token ? claim : null
  }

  /** The member, when the claim stands and holds it in this turn. Whether the turn has ended is for its end row to say. */
  member({ claim, ref, turn }: MemberRef): Member | null {
    const member = this.claim(claim)?.members.get(ref)
    return member?.turn === turn ? member : null
  }
}
