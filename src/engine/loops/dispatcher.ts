import type { AbortReason } from '../../model/context.ts'
import { errorRecord } from '../../model/error-record.ts'
import type { NewOccurrence, SettleItem } from '../../store/store.ts'
import { tick } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import type { Session } from '../node/session.ts'
import type { JoinedClaim, JoinedClaimSource } from '../record/joined-claims.ts'
import type { Recorder } from '../record/recorder.ts'
import { type Batch, Turn, type TurnHost, type TurnResult } from '../turn/turn.ts'
import { TurnSettingsLookup } from '../turn/turn-settings.ts'
import { ClaimLine } from './claim-line.ts'
import { ClaimSize } from './claim-size.ts'
import { type Claimed, Claimer } from './claimer.ts'
import { LiveTurns } from './live-turns.ts'
import type { Wait } from './loop.ts'
import { QueueWatch } from './queue-watch.ts'
import { isSuspect, TurnQueue } from './turn-queue.ts'

/** A suspect that is given back since another one runs here is not taken again at once. */
const suspectRestMs = 10_000

/** Claims due occurrences for the free slots of this node and starts them. */
export class Dispatcher implements TurnHost, JoinedClaimSource {
  readonly env: Env
  readonly recorder: Recorder
  readonly #session: () => Session
  readonly #fence: (reason: string) => void
  readonly #claimer: Claimer
  readonly #claims: ClaimLine
  readonly #settings: TurnSettingsLookup
  readonly #live = new LiveTurns()
  readonly #queue = new TurnQueue()
  readonly #watch: QueueWatch
  readonly #size: ClaimSize
  #running = 0
  #isClaiming = true
  /** Whether claims may travel with other writes: not in `runDue`, which has a limit. */
  #isRiding = false
  /** Whether the last look left anything due behind: only then is a free slot a reason for another. */
  #mayBeMore = true
  #idleWaiters: (() => void)[] = []

  constructor(env: Env, recorder: Recorder, session: () => Session, fence: (reason: string) => void) {
    this.env = env
    this.recorder = recorder
    this.#session = session
    this.#fence = fence
    this.#claimer = new Claimer(env, session, fence)
    this.#claims = new ClaimLine(this.#claimer)
    this.#size = new ClaimSize(env)
    this.#watch = new QueueWatch(env.clock, this.#queue, (late) => this.#giveBack(late))
    this.#settings = new TurnSettingsLookup(env.registry, env.options.settings)
    env.joinedClaims.source = this
  }

  /** How many run, and how many claimed ones wait for a slot. */
  get depth(): { running: number; queued: number } {
    return { running: this.#running, queued: this.#queue.size }
  }

  get live(): Iterable<Turn> {
    return this.#live
  }

  /**
   * One claim, if there is room. Returns the wait until the next is worth a try. Every claim writes: a pass that only a poll
   * has brought about reads first.
   */
  async runOnce(isLook: boolean): Promise<Wait> {
    const { env } = this
    this.#mayBeMore = true
    if (!this.#mayClaim || this.#room() <= 0 || env.registry.claimableKinds().length === 0 || !this.#session().isJoined) {
      this.#fill()
      return null
    }
    const coming = isLook ? await this.#claimer.look() : null
    if (coming && !coming.isDue) {
      this.#mayBeMore = false
      return this.#waitFor(coming.nextDue)
    }
    const claiming = this.#claimNext(() => this.#room(), undefined, true)
    if (this.#size.isFull) env.clock.soon(() => this.#fill())
    const claimed = await claiming
    if (claimed === null) return null
    if (!claimed.isFull || !this.#size.isFull || this.#room() <= 0) this.#fill()
    if (claimed.isFull) return this.#room() > 0 ? 0 : null
    return this.#waitFor(claimed.nextDue)
  }

  #waitFor(nextDue: number | null): Wait {
    const { time, options, store } = this.env
    const dueInMs = nextDue === null ? Number.POSITIVE_INFINITY : Math.max(1, nextDue - time.now())
    return { in: dueInMs, poll: store.hints.isLive ? options.pollMs : options.deafPollMs }
  }

  get #mayClaim(): boolean {
    return this.#isClaiming && (!this.#session().isDraining || this.#claimer.isUnsure)
  }

  /** Claims up to `limit` and starts what fits; null when the node drains or lost its session meanwhile. Claims go one at a time. */
  async claim(limit: number, dueBy?: number): Promise<Claimed | null> {
    if (!this.#mayClaim) return null
    const claimed = await this.#claimNext(() => limit, dueBy, false)
    this.#fill()
    return claimed
  }

  /** Resolves when the claim under way, if any, has been answered. */
  claimed(): Promise<void> {
    return this.#claims.answered
  }

  #claimNext(room: () => number, dueBy: number | undefined, isAhead: boolean): Promise<Claimed | null> {
    return this.#claims.claim(room, dueBy, (claimed) => this.#enqueue(claimed, isAhead))
  }

  #enqueue({ claim, members, isFull, startBy }: Claimed, isAhead: boolean): void {
    this.#mayBeMore = isFull
    const last = members.findLast((member) => !isSuspect({ member }))
    const batch: Batch = { claim, queuedAt: this.env.clock.mono(), startBy, isAhead, last }
    for (const member of members) this.#queue.push(new Turn(this, batch, member, this.#settings.of(member)))
    this.#watch.arm()
  }

  /** A claim that travels with the ends of turns, when there is room and work may be left, or an end may let work pass. */
  claimAfterSettle(ended: readonly SettleItem[]): JoinedClaim | null {
    const frees = ended.some(({ member, end }) => end.end !== 'released' && member.record.limits !== null)
    const mayBeMore = this.#mayBeMore || frees || !this.#size.mayBeAhead
    if (!mayBeMore || this.#queue.ready > this.#size.ahead || ended.every(({ end }) => end.end === 'released')) return null
    const room = this.#room()
    const joined = this.#size.isFull && !frees ? null : this.#joined(room)
    if (!joined && room > 0) this.#signalRoom()
    return joined
  }

  /** A claim that travels with the creation of work that this node can run at once. */
  claimWithCreate(created: readonly NewOccurrence[]): JoinedClaim | null {
    const { options, registry, time } = this.env
    const free = options.concurrency - this.#running - this.#queue.size
    if (!this.#isRiding || free <= 0) return null
    const now = time.now()
    const isDue = ({ due }: NewOccurrence) => (typeof due === 'number' ? due <= now : due.in === 0)
    const canRun = created.some((row) => isDue(row) && registry.runnable(row.definition))
    return canRun ? this.#joined(Math.min(free, this.#size.most)) : null
  }

  #joined(limit: number): JoinedClaim | null {
    if (!this.#isRiding || !this.#mayClaim || limit <= 0 || this.env.registry.claimableKinds().length === 0) return null
    return this.#claims.joined(limit, (claimed) => this.#takeJoined(claimed))
  }

  #takeJoined(claimed: Claimed | null): void {
    const { clock, events, time } = this.env
    if (!claimed) return this.#signalRoom()
    this.#enqueue(claimed, true)
    // After those who created the work have their answer.
    tick(clock, () => this.#fill())
    if (claimed.isFull && this.#room() > 0) this.#signalRoom()
    else if (claimed.nextDue !== null) events.emit('signal.due', Math.max(1, time.until(claimed.nextDue)))
  }

  /** Stops claiming, gives back what has not started, and signals what runs. */
  drain(): void {
    this.#isClaiming = false
    this.#isRiding = false
    for (const turn of this.#live) turn.abort('shutdown')
    this.giveBackQueued()
  }

  /** Gives back what has not started: another node may have a slot. */
  giveBackQueued(): void {
    this.#watch.rest()
    for (const turn of this.#queue.remove(() => true)) this.#release(turn)
  }

  /** @param isRiding Whether claims may travel with other writes. */
  resume(isRiding = false): void {
    this.#isClaiming = true
    this.#isRiding ||= isRiding
    this.#fill()
  }

  /** Whether nothing claimed is left on this node; what has run is left until its end is written. */
  get isIdle(): boolean {
    return this.#live.size === 0 && this.#queue.size === 0
  }

  /** Resolves when nothing claimed is left on this node. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  abort(ref: number, n: number, reason: AbortReason, detail: string | null): void {
    this.#live.find(ref, n)?.abort(reason, detail)
    for (const turn of this.#queue.remove(({ member }) => member.ref === ref && member.turn === n)) {
      turn.abort(reason, detail)
      this.#start(turn)
    }
  }

  /** The store has ended a turn that runs here. One whose handlers have ended may have been settled meanwhile. */
  lose(ref: number, n: number): void {
    const turn = this.#live.find(ref, n)
    if (turn && !turn.isOver) turn.abort('lost')
  }

  /** Drops the turns that are no longer this node's. */
  abandon(isLost: (turn: Turn) => boolean): void {
    this.#queue.remove(isLost)
    for (const turn of this.#live) if (isLost(turn)) turn.abort('lost')
    this.#checkIdle()
  }

  /** The size of the next claim: the free slots, and beyond them a batch that grows as long as batches start quickly. */
  #room(): number {
    const queued = this.#queue.ready
    const free = this.env.options.concurrency - this.#running - queued
    const { ahead, isFull, mayBeAhead, most } = this.#size
    const isShort = isFull ? queued <= ahead : queued < ahead
    return Math.min(Math.max(free, mayBeAhead && isShort ? ahead : 0), most)
  }

  #giveBack(late: readonly Turn[]): void {
    if (late.some((turn) => !isSuspect(turn))) this.#size.reset()
    const restMs = this.#queue.isSuspectUnderWay ? suspectRestMs : 0
    for (const turn of late) this.#release(turn, isSuspect(turn) ? restMs : 0)
  }

  #fill(): void {
    const { concurrency } = this.env.options
    const { isFenced, isOverdue } = this.#session()
    if (isFenced || isOverdue) return
    while (this.#running < concurrency) {
      const turn = this.#queue.shift()
      if (!turn) return
      if (this.isTooLate(turn)) this.#release(turn)
      else this.#start(turn)
    }
  }

  /** Windows of rates are counted from the claim: a start that comes much later would make one too short. */
  isTooLate({ record, batch }: Turn): boolean {
    const isLate = this.env.clock.mono() > batch.startBy && record.limits?.some(({ kind }) => kind === 'rate') === true
    if (isLate) this.#claimer.noteLate()
    return isLate
  }

  #start(turn: Turn): void {
    if (turn.member === turn.batch.last) this.#size.noteStart(this.env.clock.mono() - turn.batch.queuedAt)
    this.#live.add(turn)
    this.#queue.noteStart(turn)
    this.#running += 1
    turn.start()
  }

  #release(turn: Turn, delayMs = 0): void {
    this.#live.add(turn)
    this.#queue.noteStart(turn)
    turn.release(delayMs)
  }

  handlersEnded(isSettled: boolean): void {
    this.#running -= 1
    this.#fill()
    // The next claim travels with the end.
    if (isSettled && this.#isRiding) return
    if (this.#mayBeMore && this.#queue.ready <= this.#size.ahead) this.#signalRoom()
  }

  turnEnded(turn: Turn, result: TurnResult): void {
    this.#live.delete(turn)
    this.#queue.noteEnd(turn)
    this.env.events.emit('signal.turn', { claimId: turn.claim.id, result })
    this.#checkIdle()
    if (isSuspect(turn)) this.#fill()
  }

  turnRefused(turn: Turn, error: unknown): void {
    this.env.log.error('The store refused the record of a turn', {
      error: errorRecord(error),
      occurrence: turn.record.id,
    })
    this.turnEnded(turn, 'abandoned')
    // It would stay this node's for ever. Like one that takes its node down it is tried again, and after three times dead.
    this.#fence('the store refused a record of this node')
  }

  #signalRoom(): void {
    this.env.events.emit('signal.slot', null)
  }

  #checkIdle(): void {
    if (!this.isIdle) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}
