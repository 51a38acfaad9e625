import { errorText } from '../../model/error-record.ts'
import type { Health } from '../../model/events.ts'
import type { Hint } from '../../store/store.ts'
import { sleep } from '../../time/clock.ts'
import type { Env } from '../env.ts'
import { Declarer } from '../loops/declarer.ts'
import { Dispatcher } from '../loops/dispatcher.ts'
import { Keeper } from '../loops/keeper.ts'
import { type Loop, noLaterThan, type Wait } from '../loops/loop.ts'
import { OpenHooks } from '../loops/open-hooks.ts'
import { Planner } from '../loops/planner.ts'
import { Recorder } from '../record/recorder.ts'
import { type DueSummary, runDue, whenIdle } from './due-work.ts'
import { logFinalFailures } from './failure-log.ts'
import { reportGaps } from './gap-report.ts'
import { HealthBook } from './health-book.ts'
import { Session } from './session.ts'
import { isHopeless } from './transient.ts'
import { WorkerPool } from './worker-pool.ts'

/** One node: its loops, its session, and how it comes and goes. */
export class Engine {
  readonly #env: Env
  readonly #recorder: Recorder
  readonly #dispatcher: Dispatcher
  readonly #planner: Planner
  readonly #keeper: Keeper
  readonly #openHooks: OpenHooks
  readonly #loops: {
    readonly opener: Loop
    readonly planner: Loop
    readonly dispatcher: Loop
    readonly beat: Loop
    readonly watch: Loop
    readonly prune: Loop
  }
  readonly #declarer: Declarer
  readonly #book: HealthBook
  readonly #workers: WorkerPool
  #session: Session
  #phase: 'stopped' | 'started' | 'stopping' = 'stopped'
  #stopping: Promise<void> | null = null
  #ticking: Promise<void> = Promise.resolve()
  #unsubscribe: () => void = () => {}

  constructor(env: Env) {
    this.#env = env
    this.#session = this.#newSession()
    const session = () => this.#session
    this.#recorder = new Recorder(env, session)
    this.#dispatcher = new Dispatcher(env, this.#recorder, session, (reason) => this.#fence(reason))
    this.#planner = new Planner(env)
    this.#keeper = new Keeper(env, this.#dispatcher, session, (reason) => this.#fence(reason))
    this.#openHooks = new OpenHooks(env, this.#recorder)
    this.#declarer = new Declarer(env, () => this.#beatOnce())
    this.#book = new HealthBook(env)
    this.#loops = {
      opener: this.#book.loop(env, 'opener', () => this.#openOnce()),
      planner: this.#book.loop(env, 'planner', () => this.#planOnce()),
      dispatcher: this.#book.loop(env, 'dispatcher', (isLook) => this.#dispatchOnce(isLook)),
      beat: this.#book.loop(env, 'beat', () => this.#beatOnce()),
      watch: this.#book.loop(env, 'watch', () => this.#keeper.watchOnce()),
      prune: this.#book.loop(env, 'prune', () => this.#keeper.pruneOnce()),
    }
    this.#workers = new WorkerPool(env)
    env.registry.workerHandler = (module) => this.#workers.handler(module)
    this.#listen()
    logFinalFailures(env)
  }

  /** Connects the parts. */
  #listen(): void {
    const { events } = this.#env
    const { planner, dispatcher, beat, watch } = this.#loops
    events.watch('signal.gap', () => planner.wake())
    events.watch('signal.jobs', () => planner.wake())
    events.watch('signal.ended', () => watch.wake())
    events.watch('signal.refused', () => beat.wake())
    events.watch('signal.registered', () => {
      this.#declarer.noteRegistration()
      planner.wake()
      dispatcher.wake()
    })
    events.watch('signal.jump', () => planner.wake())
    events.watch('signal.kinds', () => dispatcher.wake())
    events.watch('signal.slot', () => dispatcher.wake())
    events.watch('signal.due', (ms) => dispatcher.wakeIn(ms))
    events.watch('signal.openHooks', (ends) => this.#openHooks.add(ends))
    events.watch('signal.nodes', (nodes) => {
      this.#planner.observe(nodes)
      if (this.#declarer.observe(nodes)) planner.wake()
    })
  }

  get depth(): { running: number; queued: number } {
    return this.#dispatcher.depth
  }

  get health(): Health {
    return this.#phase === 'stopped' ? { state: 'stopped', reasons: [] } : this.#book.health
  }

  /** Makes the store usable. Repeated calls are harmless. */
  open(): Promise<void> {
    return this.#env.store.open()
  }

  /** Starts the loops. A store that is away does not make this fail: the node is degraded until it comes back. */
  async start(): Promise<void> {
    if (this.#phase !== 'stopped') return
    this.#phase = 'started'
    reportGaps(this.#env)
    try {
      await this.open()
      await this.#beatOnce()
    } catch (error) {
      if (isHopeless(error)) {
        this.#phase = 'stopped'
        throw error
      }
      this.#book.trouble('opener', error instanceof Error ? error : new Error(String(error)))
    }
    if (this.#phase === 'started') this.#loops.opener.start()
  }

  /** Stops planning and claiming, signals what runs, waits for it for the grace period, and leaves. Said again, it waits for the same end. */
  async stop(graceMs: number = this.#env.options.graceMs): Promise<void> {
    if (this.#phase === 'started') this.#stopping = this.#stop(graceMs)
    await this.#stopping
  }

  async #stop(graceMs: number): Promise<void> {
    this.#phase = 'stopping'
    this.#unsubscribe()
    const { opener, planner, dispatcher, beat, watch, prune } = this.#loops
    // The opener starts the others: they stay stopped once it has stopped.
    await opener.stop()
    await Promise.all([planner.stop(), dispatcher.stop(), prune.stop()])
    const grace = new AbortController()
    this.#dispatcher.drain()
    const idle = Promise.all([this.#dispatcher.idle(), this.#openHooks.idle()])
    const { clock } = this.#env
    await Promise.race([idle, sleep(clock, graceMs, grace.signal), ...(clock.stalled ? [clock.stalled(grace.signal)] : [])])
    grace.abort()
    await Promise.all([beat.stop(), watch.stop()])
    await this.#leave()
    await Promise.all([this.#keeper.close(), this.#workers.close()])
    this.#phase = 'stopped'
    this.#book.forget()
    this.#env.events.emit('health.changed', this.health)
  }

  async close(): Promise<void> {
    await this.stop()
    await this.#ticking
    await Promise.all([this.#keeper.close(), this.#workers.close()])
    await this.#env.store.close()
  }

  /** Plans, claims and runs what is due, once, for hosts that tick from outside. Of several calls each waits for the one before. */
  runDue(request: { limit: number; dueBy?: number }): Promise<DueSummary> {
    const tick = this.#ticking.then(() => this.#tick(request))
    this.#ticking = tick.then(
      () => {},
      () => {},
    )
    return tick
  }

  async #tick(request: { limit: number; dueBy?: number }): Promise<DueSummary> {
    await this.open()
    const isStarted = this.#phase === 'started'
    this.#dispatcher.resume()
    try {
      // A handler may run for longer than a node is believed without a beat.
      const wait = await this.#beatOnce()
      if (!isStarted) this.#loops.beat.start(wait)
      await this.#planAll()
      await this.#keeper.watchOnce({ isTick: !isStarted })
      return await runDue(this.#env, this.#dispatcher, request)
    } finally {
      if (this.#phase === 'stopped') await this.#leaveAfterTick()
    }
  }

  /** Resolves when no due work is left that this node could run. */
  idle(): Promise<void> {
    const { planner, dispatcher } = this.#loops
    return whenIdle(this.#env, this.#dispatcher, {
      isStarted: () => this.#phase === 'started',
      isDraining: () => this.#session.isDraining,
      wake: (isUninformed) => {
        if (isUninformed) planner.wake()
        dispatcher.wake()
      },
    })
  }

  async #openOnce(): Promise<number | null> {
    await this.open()
    if (!this.#session.isJoined) await this.#beatOnce()
    this.#unsubscribe()
    this.#unsubscribe = this.#env.store.hints.subscribe((hint) => this.#onHint(hint))
    this.#dispatcher.resume(true)
    const { planner, dispatcher, beat, watch, prune } = this.#loops
    for (const loop of [planner, dispatcher, watch]) loop.start()
    // The node has just beaten, and what is old can wait until the first work has begun.
    for (const loop of [beat, prune]) loop.start({ poll: this.#env.options.beatMs })
    return null
  }

  async #planOnce(isPass = false): Promise<Wait> {
    await this.#wakeUp()
    if (this.#session.isDraining) return null
    await this.#declarer.runOnce()
    const wait = await this.#planner.runOnce(isPass)
    // A declaration that was left to another node is checked as often as nodes beat: a node that only restarts is back by then.
    return this.#declarer.isUndeclared ? noLaterThan(wait, this.#env.options.beatMs) : wait
  }

  /** After a sleep of the machine, or a handler that blocked the process, the store gets a beat before anything else. */
  async #wakeUp(): Promise<void> {
    if (this.#session.mayHaveSlept) await this.#beatOnce()
  }

  async #dispatchOnce(isLook: boolean): Promise<Wait> {
    await this.#wakeUp()
    return this.#dispatcher.runOnce(isLook)
  }

  async #planAll(): Promise<void> {
    while ((await this.#planOnce(this.#phase === 'stopped')) === 0);
  }

  async #beatOnce(): Promise<Wait> {
    const { isJoined, isOverdue } = this.#session
    const wait = await this.#keeper.beatOnce()
    if (!isJoined && this.#session.isJoined) this.#loops.dispatcher.wake()
    // Nothing was started while it was uncertain whether the node still holds its work.
    if (isOverdue && this.#phase === 'started') this.#dispatcher.resume()
    return wait
  }

  #onHint(hint: Hint): void {
    if (hint.kind === 'due') this.#loops.dispatcher.wakeIn(this.#env.time.until(hint.at))
    else if (hint.kind === 'cancel') {
      if (hint.node === this.#session.boot) this.#loops.beat.wake()
    } else {
      this.#declarer.noteChange()
      this.#loops.planner.wake()
    }
  }

  /** Gives up everything held under this boot id and comes back under a new one. */
  #fence(reason: string): void {
    const fenced = this.#session
    if (fenced.isFenced) return
    const level = fenced.claims.size > 0 ? 'warn' : 'info'
    this.#env.log[level]('This node stopped itself and comes back under a new id', { node: fenced.boot, reason })
    this.#renewSession()
    this.#session.isDraining = fenced.isDraining
    this.#dispatcher.abandon(({ claim }) => fenced.claims.has(claim.id))
    this.#keeper.disown(fenced.boot)
    this.#env.events.emit('node.fenced', { node: fenced.boot, reason })
    this.#loops.beat.wake()
  }

  async #leaveAfterTick(): Promise<void> {
    await this.#loops.beat.stop()
    await this.#leave()
  }

  /** Work that ignores its signal is left to rescue at once, and nothing of it keeps the process alive. */
  async #leave(): Promise<void> {
    const { boot, isJoined, claims } = this.#session
    const hasLeft = this.#env.store.isOpen && isJoined && (await this.#tried(() => this.#keeper.beatOnce('leave')))
    this.#renewSession()
    this.#dispatcher.abandon(() => true)
    this.#openHooks.abandon()
    if (hasLeft && claims.size > 0) await this.#tried(() => this.#keeper.rescueLeft(boot))
  }

  async #tried(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call()
      return true
    } catch (error) {
      this.#env.log.warn('The store did not take note that this node has left', { error: errorText(error) })
      return false
    }
  }

  /** The old session writes nothing any more, and does not go on trying to. */
  #renewSession(): void {
    this.#session.fence()
    this.#keeper.leave()
    this.#session = this.#newSession()
  }

  #newSession(): Session {
    const { clock, randomBytes, options } = this.#env
    return new Session(clock, randomBytes, options.ttlMs - options.ttlMarginMs)
  }
}
