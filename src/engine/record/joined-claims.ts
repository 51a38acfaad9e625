import type { ClaimAnswer, ClaimRequest, NewOccurrence, SettleItem } from '../../store/store.ts'

/** A claim that travels with another write, so an end or a creation and the next start are one commit. */
export interface JoinedClaim {
  readonly request: ClaimRequest
  /** Takes in the answer; null when the store has left the claim out. */
  taken(answer: ClaimAnswer | null): void
  /** The outcome is unknown, or the write was refused: the claim is sent again by itself, under the same id. */
  failed(error: unknown): void
}

/** Where claims for other writes come from. */
export interface JoinedClaimSource {
  claimAfterSettle(ended: readonly SettleItem[]): JoinedClaim | null
  claimWithCreate(created: readonly NewOccurrence[]): JoinedClaim | null
}

/** Brings together those who write and the dispatcher, which knows whether there is room. */
export class JoinedClaims implements JoinedClaimSource {
  source: JoinedClaimSource | null = null

  claimAfterSettle(ended: readonly SettleItem[]): JoinedClaim | null {
    return this.source?.claimAfterSettle(ended) ?? null
  }

  claimWithCreate(created: readonly NewOccurrence[]): JoinedClaim | null {
    return this.source?.claimWithCreate(created) ?? null
  }
}
