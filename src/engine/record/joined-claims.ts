import type { ClaimAnswer, ClaimRequest, NewOccurrence, SettleItem } from '../../store/store.ts'

/** A claim that travels with another write, so an end or a creation and the next start are one commit. */
export interface ClaimRide {
  readonly request: ClaimRequest
  /** Takes in the answer; null when the store has left the claim out. */
  taken(answer: ClaimAnswer | null): void
  /** The outcome is unknown, or the write was refused: the claim is sent again by itself, under the same id. */
  failed(error: unknown): void
}

/** Where claims for other writes come from. */
export interface RideSource {
  rideAfter(ended: readonly SettleItem[]): ClaimRide | null
  rideWith(created: readonly NewOccurrence[]): ClaimRide | null
}

/** Brings together those who write and the dispatcher, which knows whether there is room. */
export class Rides implements RideSource {
  source: RideSource | null = null

  rideAfter(ended: readonly SettleItem[]): ClaimRide | null {
    return this.source?.rideAfter(ended) ?? null
  }

  rideWith(created: readonly NewOccurrence[]): ClaimRide | null {
    return this.source?.rideWith(created) ?? null
  }
}
