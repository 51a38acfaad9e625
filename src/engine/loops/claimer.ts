import { PunctualError } from '../../errors.ts'
import { uuidV7 } from '../../model/ids.ts'
import type { ClaimMember, ClaimPick, ClaimRef } from '../../store/store.ts'
import type { Env } from '../env.ts'
import type { Session } from '../node/session.ts'

/** What one claim has brought. */
export interface Claimed {
  readonly claim: ClaimRef
  readonly members: readonly ClaimMember[]
  readonly nextDue: number | null
  /** Whether there may have been more than was asked for. */
  readonly isFull: boolean
}

/** Asks the store for due work, one claim at a time. */
export class Claimer {
  readonly #env: Env
  readonly #session: () => Session
  readonly #fence: (reason: string) => void
  #pending: { readonly claim: ClaimRef; readonly session: Session; readonly limit: number } | null = null

  constructor(env: Env, session: () => Session, fence: (reason: string) => void) {
    this.#env = env
    this.#session = session
    this.#fence = fence
  }

  /** Whether a claim would find anything, without one; null when only a claim can tell, since the outcome of the last is unknown. */
  async look(): Promise<{ readonly isDue: boolean; readonly nextDue: number | null } | null> {
    if (this.#pending) return null
    const { store, registry, clock, time } = this.#env
    const sentAt = clock.mono()
    const { now, nextDue } = await store.peek({ kinds: registry.kinds() })
    time.observe(now, sentAt)
    return { isDue: nextDue !== null && nextDue <= now, nextDue }
  }

  /** Null when the node lost its session meanwhile. */
  async claim(wanted: number, dueBy?: number): Promise<Claimed | null> {
    const env = this.#env
    while (this.#session().beating) await this.#session().beating
    const session = this.#session()
    // After an unknown outcome the same is asked for again, so that what it may have taken is not left behind.
    if (this.#pending?.session !== session) this.#pending = { claim: this.#newClaim(), session, limit: wanted }
    const { claim, limit } = this.#pending
    const { clusterLimit } = env.options
    session.inFlight.add(claim.id)
    try {
      const request = {
        ...claim,
        node: session.boot,
        kinds: env.registry.kinds(),
        limit,
        ...(clusterLimit !== null && { clusterLimit }),
        ...(dueBy !== undefined && { dueBy }),
        ...(await this.#pick()),
      }
      const sentAt = env.clock.mono()
      const { now, members, passed, nextDue } = await env.store.claim(request)
      env.time.observe(now, sentAt)
      for (const one of passed) env.events.emit('occurrence.passed', one)
      this.#pending = null
      if (session.isFenced) return null
      if (members.length > 0) session.hold(claim, members.length)
      session.inFlight.delete(claim.id)
      return { claim, members, nextDue, isFull: members.length >= limit }
    } catch (error) {
      if (!(error instanceof PunctualError && error.code === 'claim.lost')) throw error
      this.#pending = null
      this.#fence('the store refused a claim of this node')
      return null
    }
  }

  async #pick(): Promise<{ readonly pick?: ClaimPick }> {
    const { options, store, registry } = this.#env
    if (options.pick === 'priority') return {}
    if (options.pick === 'fair') return { pick: { kind: 'fair' } }
    return { pick: { kind: 'quotas', quotas: options.pick(await store.backlog({ kinds: registry.kinds() })) } }
  }

  #newClaim(): ClaimRef {
    const { clock, randomBytes } = this.#env
    return { id: uuidV7(Math.floor(clock.wall()), randomBytes), token: Buffer.from(randomBytes(16)).toString('base64url') }
  }
}
