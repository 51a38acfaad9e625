import type { AbortReason } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { ClaimMember, ClaimRef } from '../store/store.ts'
import { type Claimed, Claimer } from './claimer.ts'
import type { Env } from './env.ts'
import { Execution } from './execution.ts'
import { Executor, type TurnListener, type TurnResult } from './executor.ts'
import { LiveTurns } from './live-turns.ts'
import type { Wait } from './loop.ts'
import type { Recorder } from './recorder.ts'
import type { Runnable } from './registry.ts'
import type { Session } from './session.ts'

/** What one claim has brought. */
interface Batch {
  readonly claim: ClaimRef
  readonly queuedAt: number
  /** Taken in the hope of a slot, and not because somebody waits for just this node to run it. */
  readonly isAhead: boolean
  readonly last: ClaimMember | undefined
}

interface Queued {
  readonly batch: Batch
  readonly member: ClaimMember
}

/** A batch that was started within this time was small enough to be doubled. */
const quickStartMs = 50
/** What was taken ahead and found no slot for this long is given back: another node may have one. */
const longestQueuedMs = 1000
/** From this many recoveries on an occurrence runs without another such beside it, so that only the guilty one goes down. */
const suspectRecoveries = 2

/** Claims due occurrences for the free slots of this node and starts them. */
export class Dispatcher implements TurnListener {
  readonly #env: Env
  readonly #recorder: Recorder
  readonly #session: () => Session
  readonly #fence: (reason: string) => void
  readonly #live = new LiveTurns()
  #queue: Queued[] = []
  #suspects: Queued[] = []
  #running = 0
  #runningSuspects = 0
  #batch = 0
  readonly #claimer: Claimer
  #isClaiming = true
  /** Whether the last look left anything due behind: only then is a free slot a reason for another. */
  #mayBeMore = true
  #claiming: Promise<void> = Promise.resolve()
  /** So many have come last, and are started by the next pass. */
  #unstarted = 0
  #idleWaiters: (() => void)[] = []
  #cancelGiveBack: (() => void) | null = null

  constructor(env: Env, recorder: Recorder, session: () => Session, fence: (reason: string) => void) {
    this.#env = env
    this.#recorder = recorder
    this.#session = session
    this.#fence = fence
    this.#claimer = new Claimer(env, session, fence)
  }

  /** How many run, and how many claimed ones wait for a slot. */
  get depth(): { running: number; queued: number } {
    return { running: this.#running, queued: this.#queue.length + this.#suspects.length }
  }

  get live(): Iterable<Executor> {
    return this.#live
  }

  /**
   * One claim, if there is room. Returns the wait until the next is worth a try. A claim writes, whatever it finds: a look that nobody
   * asked for reads first.
   */
  async runOnce(isLook: boolean): Promise<Wait> {
    const env = this.#env
    const limit = this.#room()
    this.#mayBeMore = true
    // Not before what is sent in this pass is on its way: the store is at work meanwhile.
    if (this.#unstarted > 0) env.clock.soon(() => this.#fill())
    this.#unstarted = 0
    if (!this.#isClaiming || limit <= 0 || env.registry.kinds().length === 0 || !this.#session().isJoined) return null
    const coming = isLook ? await this.#claimer.look() : null
    if (coming && !coming.isDue) {
      this.#mayBeMore = false
      return this.#waitFor(coming.nextDue)
    }
    const claimed = await this.#claimNext(limit, undefined, true)
    if (claimed === null) return null
    // Where there is more, and slots are free, it is asked for before what has come is started.
    this.#unstarted = claimed.isFull && this.#running < env.options.concurrency ? claimed.members.length : 0
    if (this.#unstarted > 0 && this.#room() > 0) return 0
    this.#unstarted = 0
    this.#fill()
    if (claimed.isFull) return this.#room() > 0 ? 0 : null
    return this.#waitFor(claimed.nextDue)
  }

  #waitFor(nextDue: number | null): Wait {
    const { time, options, store } = this.#env
    const dueInMs = nextDue === null ? Number.POSITIVE_INFINITY : Math.max(1, nextDue - time.now())
    const pollMs = store.hints.isLive ? options.pollMs : options.deafPollMs
    return { in: dueInMs, poll: pollMs }
  }

  /** Claims up to `limit` and starts what fits; null when the node lost its session meanwhile. One claim is asked for at a time. */
  async claim(limit: number, dueBy?: number): Promise<Claimed | null> {
    const claimed = await this.#claimNext(limit, dueBy, false)
    this.#fill()
    return claimed
  }

  /** Resolves when the claim under way, if any, has been answered. */
  claimed(): Promise<void> {
    return this.#claiming
  }

  #claimNext(limit: number, dueBy: number | undefined, isAhead: boolean): Promise<Claimed | null> {
    const claimed = this.#claiming.then(() => this.#claim(limit, dueBy, isAhead))
    this.#claiming = claimed.then(
      () => {},
      () => {},
    )
    return claimed
  }

  async #claim(limit: number, dueBy: number | undefined, isAhead: boolean): Promise<Claimed | null> {
    const claimed = await this.#claimer.claim(limit, dueBy)
    if (!claimed) return null
    this.#mayBeMore = claimed.isFull
    this.#enqueue(claimed.claim, claimed.members, isAhead)
    return claimed
  }

  /** Stops claiming, gives back what has not started, and signals what runs. */
  async drain(): Promise<void> {
    this.#isClaiming = false
    this.#cancelGiveBack?.()
    this.#cancelGiveBack = null
    const waiting = [...this.#queue, ...this.#suspects]
    this.#queue = []
    this.#suspects = []
    this.abortAll('shutdown')
    await Promise.all(waiting.map((queued) => this.#release(queued)))
  }

  resume(): void {
    this.#isClaiming = true
    this.#fill()
  }

  /** Whether nothing claimed is left on this node; what has run is left until its end is written. */
  get isIdle(): boolean {
    return this.#live.size === 0 && this.#queue.length === 0 && this.#suspects.length === 0
  }

  /** Resolves when nothing claimed is left on this node. */
  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve()
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  abort(ref: number, turn: number, reason: AbortReason, detail: string | null): void {
    const executor = this.#live.find(ref, turn)
    const queued = [...this.#queue, ...this.#suspects].find(({ member }) => member.ref === ref && member.turn === turn)
    if (executor) executor.abort(reason, detail)
    else if (queued) this.#start(this.#take(queued), (waiting) => waiting.abort(reason, detail))
  }

  abortAll(reason: AbortReason): void {
    for (const executor of this.#live) executor.abort(reason)
  }

  /** Drops the members of claims that are no longer this node's. */
  abandon(claimIds: ReadonlySet<string>): void {
    const kept = ({ batch }: Queued) => !claimIds.has(batch.claim.id)
    this.#queue = this.#queue.filter(kept)
    this.#suspects = this.#suspects.filter(kept)
    for (const executor of this.#live) if (claimIds.has(executor.claimId)) executor.abort('lost')
    this.#checkIdle()
  }

  /** What to claim: the free slots, and beyond them a batch that grows as long as batches start quickly. */
  #room(): number {
    const { concurrency } = this.#env.options
    const queued = this.#queue.length + this.#suspects.length
    const free = concurrency - this.#running - queued
    const ahead = queued - this.#unstarted < this.#batch ? this.#batch : 0
    return Math.min(Math.max(free, ahead), this.#claimLimit)
  }

  get #claimLimit(): number {
    return Math.min(this.#env.options.claimLimit, this.#env.store.batchLimit)
  }

  #enqueue(claim: ClaimRef, members: readonly ClaimMember[], isAhead: boolean): void {
    const batch: Batch = { claim, queuedAt: this.#env.clock.mono(), isAhead, last: members.at(-1) }
    for (const member of members) (isSuspect(member) ? this.#suspects : this.#queue).push({ batch, member })
    this.#watchQueue()
  }

  #watchQueue(): void {
    const oldest = this.#queue.find(({ batch }) => batch.isAhead)?.batch
    if (!oldest || this.#cancelGiveBack) return
    const { clock, log } = this.#env
    this.#cancelGiveBack = clock.timer(oldest.queuedAt + longestQueuedMs - clock.mono(), () => {
      this.#cancelGiveBack = null
      this.#giveBack().catch((error: unknown) =>
        log.warn('Work that waits for a slot here could not be given back', { error: String(error) }),
      )
      this.#watchQueue()
    })
  }

  async #giveBack(): Promise<void> {
    const since = this.#env.clock.mono() - longestQueuedMs
    const late = new Set(this.#queue.filter(({ batch }) => batch.isAhead && batch.queuedAt <= since))
    if (late.size === 0) return
    this.#batch = 0
    this.#queue = this.#queue.filter((queued) => !late.has(queued))
    await Promise.all([...late].map((queued) => this.#release(queued)))
    this.#checkIdle()
  }

  #fill(): void {
    const { concurrency } = this.#env.options
    const { isFenced, isOverdue } = this.#session()
    if (isFenced || isOverdue) return
    while (this.#running < concurrency && this.#queue.length > 0) this.#start(this.#queue.shift() as Queued)
    if (this.#running < concurrency && this.#suspects.length > 0 && this.#runningSuspects === 0)
      this.#start(this.#suspects.shift() as Queued)
  }

  #start({ batch, member }: Queued, before?: (executor: Executor) => void): void {
    const env = this.#env
    if (member === batch.last) this.#adjustBatch(batch.queuedAt)
    const runnable = env.registry.runnable(member.record.definition) as Runnable
    const execution = new Execution(env, this.#recorder, batch.claim, member, runnable)
    const executor = new Executor(execution, this.#recorder, this)
    this.#live.add(executor)
    this.#running += 1
    if (isSuspect(member)) this.#runningSuspects += 1
    before?.(executor)
    executor.run()
  }

  handlersEnded(): void {
    this.#running -= 1
    this.#fill()
    if (this.#mayBeMore && this.#queue.length <= this.#batch) this.#env.events.emit('signal.slot', null)
  }

  turnEnded(executor: Executor, result: TurnResult): void {
    const { member, claimId } = executor
    // Only now, since one whose end is not written yet would go down with the next.
    if (isSuspect(member)) this.#runningSuspects -= 1
    this.#live.delete(executor)
    this.#env.events.emit('signal.turn', { claimId, result })
    this.#checkIdle()
    if (isSuspect(member)) this.#fill()
  }

  turnRefused(executor: Executor, error: unknown): void {
    this.#env.log.error('What an execution did could not be recorded', {
      error: errorRecord(error),
      occurrence: executor.member.record.id,
    })
    this.turnEnded(executor, 'abandoned')
    // It would stay this node's for ever. Like one that takes its node down it is tried again, and after three times dead.
    this.#fence('the store refused a record of this node')
  }

  #adjustBatch(queuedAt: number): void {
    const { concurrency } = this.#env.options
    const isQuick = this.#env.clock.mono() - queuedAt <= quickStartMs
    this.#batch = isQuick ? Math.min(Math.max(this.#batch, concurrency) * 2, this.#claimLimit) : 0
  }

  #take(queued: Queued): Queued {
    this.#queue = this.#queue.filter((other) => other !== queued)
    this.#suspects = this.#suspects.filter((other) => other !== queued)
    return queued
  }

  async #release({ batch: { claim }, member }: Queued): Promise<void> {
    const end = {
      end: 'released',
      startedAt: null,
      endedAt: this.#env.time.now(),
      result: null,
      error: null,
      attempt: null,
      settings: null,
      tasks: null,
      reason: null,
    } as const
    await this.#recorder.settle({ claim, member, end, attempts: [], delayMs: 0 })
  }

  #checkIdle(): void {
    if (!this.isIdle) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }
}

function isSuspect({ recoveries }: ClaimMember): boolean {
  return recoveries >= suspectRecoveries
}
