import { uuidV7 } from '../../model/ids.ts'
import type { ClaimRef } from '../../store/store.ts'
import type { Clock } from '../../time/clock.ts'

/** A node between joining and leaving, or being fenced: a boot id and the claims it holds under it. */
export class Session {
  readonly boot: string
  /** Claims with members on this node, and how many are left. */
  readonly claims = new Map<string, { readonly claim: ClaimRef; left: number }>()
  /** Claims whose answer has not arrived. */
  readonly inFlight = new Set<string>()
  isJoined = false
  /** Takes no new work; runs what it has. */
  isDraining = false
  readonly #end = new AbortController()
  #beat: PromiseWithResolvers<void> | null = null
  /** When the last acknowledged beat was sent, by the monotonic clock and by the wall. */
  beatAt: number
  beatWallAt: number

  readonly #clock: Clock
  readonly #aloneMs: number

  /** @param aloneMs How long the session lasts without an acknowledged beat. */
  constructor(clock: Clock, randomBytes: (count: number) => Uint8Array, aloneMs: number) {
    this.#clock = clock
    this.#aloneMs = aloneMs
    this.boot = uuidV7(Math.floor(clock.wall()), randomBytes)
    this.beatAt = clock.mono()
    this.beatWallAt = clock.wall()
  }

  /** Its last acknowledged beat is so old that it may be taken for gone at any moment. */
  get isOverdue(): boolean {
    return this.isJoined && this.#clock.mono() - this.beatAt >= this.#aloneMs
  }

  /**
   * The wall has moved on by more than a node may be silent, whatever the monotonic clock says: the machine may have been asleep.
   * The store must know of it before anything is planned or claimed, to see the gap as one.
   */
  get mayHaveSlept(): boolean {
    return this.isJoined && this.#clock.wall() - this.beatWallAt >= this.#aloneMs
  }

  /**
   * Resolves when the beat under way has been answered; null when there is none. No claim begins before that, and no other beat:
   * it would not be in the list that the beat carries, and the store would give it back as one whose answer never came.
   */
  get beating(): Promise<void> | null {
    return this.#beat?.promise ?? null
  }

  beatBegins(): void {
    this.#beat = Promise.withResolvers()
  }

  beatEnds(): void {
    this.#beat?.resolve()
    this.#beat = null
  }

  /** Cut off from its claims: it starts nothing and writes nothing any more. */
  get isFenced(): boolean {
    return this.#end.signal.aborted
  }

  /** Aborts when the session is fenced. */
  get ended(): AbortSignal {
    return this.#end.signal
  }

  fence(): void {
    this.#end.abort()
    this.beatEnds()
  }

  hold(claim: ClaimRef, members: number): void {
    this.claims.set(claim.id, { claim, left: members })
  }

  /** Of the claims of these members, those that have no other member left. */
  lastOf(items: readonly { readonly claim: ClaimRef }[]): ClaimRef[] {
    const settled = new Map<string, number>()
    for (const { claim } of items) settled.set(claim.id, (settled.get(claim.id) ?? 0) + 1)
    return [...settled].flatMap(([id, count]) => {
      const held = this.claims.get(id)
      return held && held.left <= count ? [held.claim] : []
    })
  }

  drop(claimId: string): void {
    const held = this.claims.get(claimId)
    if (held && --held.left <= 0) this.claims.delete(claimId)
  }
}
