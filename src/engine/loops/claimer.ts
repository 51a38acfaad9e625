import { PunctualError } from '../../errors.ts'
import { uuidV7 } from '../../model/ids.ts'
import type { ClaimAnswer, ClaimMember, ClaimPick, ClaimRef, ClaimRequest } from '../../store/store.ts'
import type { Env } from '../env.ts'
import type { Session } from '../node/session.ts'
import { notePassed } from './note-passed.ts'

const leastPromptMs = 20
const mostPromptMs = 2000
/** With each claim the promise gets shorter again. */
const promptDecay = 0.95

/** The result of one claim. */
export interface Claimed {
  readonly claim: ClaimRef
  readonly members: readonly ClaimMember[]
  readonly nextDue: number | null
  /** Whether there may have been more than was asked for. */
  readonly isFull: boolean
  /** Until when work with a rate may start, by the monotonic clock. */
  readonly startBy: number
}

/** A claim whose answer has not arrived. */
export interface PendingClaim {
  readonly claim: ClaimRef
  readonly session: Session
  readonly limit: number
  /** When it was sent first and last, by the monotonic clock. */
  readonly askedAt: number
  readonly sentAt: number
  readonly promptMs: number
}

/** Asks the store for due work, one claim at a time. */
export class Claimer {
  readonly #env: Env
  readonly #session: () => Session
  readonly #fence: (reason: string) => void
  #pending: PendingClaim | null = null
  #hasFailed = false
  /** Work with a rate is started this soon after its claim, or given back. Grows when a start was late. */
  #promptMs = leastPromptMs

  constructor(env: Env, session: () => Session, fence: (reason: string) => void) {
    this.#env = env
    this.#session = session
    this.#fence = fence
  }

  /** Whether a claim would find anything, without one; null when only a claim can find out, since the outcome of the last is unknown. */
  async look(): Promise<{ readonly isDue: boolean; readonly nextDue: number | null } | null> {
    if (this.#pending) return null
    const { store, registry, clock, time } = this.#env
    const sentAt = clock.mono()
    const { now, nextDue } = await store.peek({ kinds: registry.claimableKinds() })
    time.observe(now, sentAt)
    return { isDue: nextDue !== null && nextDue <= now, nextDue }
  }

  /** Whether the last claim may have been granted although its call failed: only the same claim, sent again, shows its members. */
  get isUnsure(): boolean {
    return this.#hasFailed && this.#pending?.session === this.#session()
  }

  /** Null when the node lost its session meanwhile. */
  async claim(wanted: number, dueBy?: number): Promise<Claimed | null> {
    while (this.#session().beating) await this.#session().beating
    const pending = this.#begin(wanted)
    try {
      const request = this.#request(pending, await this.#pick(), dueBy)
      return this.taken(pending, await this.#env.store.claim(request))
    } catch (error) {
      this.failed(error)
      if (isLost(error)) return null
      throw error
    }
  }

  /** A claim for another write to carry; null while none may be sent, or the backlog has to be read to pick. */
  joined(wanted: number): { readonly pending: PendingClaim; readonly request: ClaimRequest } | null {
    const { pick } = this.#env.options
    const { beating, isJoined, isOverdue } = this.#session()
    if (beating || !isJoined || isOverdue || typeof pick === 'function') return null
    const pending = this.#begin(wanted)
    return { pending, request: this.#request(pending, pick === 'fair' ? { pick: { kind: 'fair' } } : {}) }
  }

  /** Takes in an answer; null when the session that the claim was made under has ended. */
  taken(
    { claim, session, limit, askedAt, sentAt, promptMs }: PendingClaim,
    { now, members, passed, nextDue }: ClaimAnswer,
  ): Claimed | null {
    this.#env.time.observe(now, sentAt)
    for (const one of passed) notePassed(this.#env, one)
    this.#pending = null
    this.#promptMs = Math.max(leastPromptMs, this.#promptMs * promptDecay)
    if (session.isFenced) return null
    if (members.length > 0) session.hold(claim, members.length)
    session.inFlight.delete(claim.id)
    return { claim, members, nextDue, isFull: members.length >= limit, startBy: askedAt + promptMs }
  }

  /** Work with a rate came too late to start within its window. */
  noteLate(): void {
    this.#promptMs = Math.min(this.#promptMs * 2, mostPromptMs)
  }

  /** The store has left out a claim that travelled with another write. */
  leftOut({ claim, session }: PendingClaim): void {
    this.#pending = null
    session.inFlight.delete(claim.id)
  }

  /** The claim may have been granted all the same, unless the store no longer knows this node. */
  failed(error: unknown): void {
    this.#hasFailed = !isLost(error)
    if (this.#hasFailed) return
    this.#pending = null
    this.#fence('the store refused a claim of this node')
  }

  /** After an unknown outcome the same claim is sent again, so its members are not left behind. */
  #begin(wanted: number): PendingClaim {
    const session = this.#session()
    const sentAt = this.#env.clock.mono()
    const isAgain = this.#pending?.session === session
    const fresh = { claim: this.#newClaim(), session, limit: wanted, askedAt: sentAt, promptMs: this.#promptMs }
    const before = isAgain ? (this.#pending as PendingClaim) : fresh
    this.#pending = { ...before, sentAt }
    this.#hasFailed = false
    session.inFlight.add(before.claim.id)
    return this.#pending
  }

  #request({ claim, session, limit, promptMs }: PendingClaim, pick: { readonly pick?: ClaimPick }, dueBy?: number): ClaimRequest {
    const { options, registry } = this.#env
    const { clusterLimit } = options
    return {
      ...claim,
      node: session.boot,
      kinds: registry.claimableKinds(),
      limit,
      promptMs,
      ...(clusterLimit !== null && { clusterLimit }),
      ...(dueBy !== undefined && { dueBy }),
      ...pick,
    }
  }

  async #pick(): Promise<{ readonly pick?: ClaimPick }> {
    const { options, store, registry } = this.#env
    if (options.pick === 'priority') return {}
    if (options.pick === 'fair') return { pick: { kind: 'fair' } }
    return { pick: { kind: 'quotas', quotas: options.pick(await store.backlog({ kinds: registry.claimableKinds() })) } }
  }

  #newClaim(): ClaimRef {
    const { clock, randomBytes } = this.#env
    return { id: uuidV7(Math.floor(clock.wall()), randomBytes), token: Buffer.from(randomBytes(16)).toString('base64url') }
  }
}

function isLost(error: unknown): boolean {
  return error instanceof PunctualError && error.code === 'claim.lost'
}
