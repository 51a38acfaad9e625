import { errorText } from '../../model/error-record.ts'
import { cascade } from '../../model/settings.ts'
import type { NodeInfo, NodeRecord } from '../../store/store.ts'
import { systemClock } from '../../time/clock.ts'
import { tzVersion } from '../../time/zone.ts'
import type { Env } from '../env.ts'
import { Pulse } from '../node/pulse.ts'
import type { Session } from '../node/session.ts'
import { version } from '../node/version.ts'
import { FigureSender } from '../record/figure-sender.ts'
import { announceUnattendedEnd } from '../turn/unattended-end.ts'
import type { Dispatcher } from './dispatcher.ts'
import type { Wait } from './loop.ts'
import { notePassed } from './note-passed.ts'
import { Retention } from './retention.ts'
import { UnservedReport } from './unserved-report.ts'

const claimsPerRescue = 1000
const prunePerPass = 1000
const pruneEveryMs = 60_000
const pruneAgainMs = 10
/** How much later than its due time a timer must fire for the event loop to have been blocked. */
const blockedMs = 1000
const ends: readonly string[] = ['dead', 'failed', 'canceled']

/** Looks after the node itself (beat, fence) and after what others left behind (rescue, prune). */
export class Keeper {
  readonly #env: Env
  readonly #dispatcher: Dispatcher
  readonly #session: () => Session
  readonly #fence: (reason: string) => void
  readonly #pulse: Pulse | null
  /** When the beats of each other node were last seen to move, by this node's monotonic clock. */
  readonly #seen = new Map<string, { beats: number; at: number }>()
  /** Boot ids that this node has given up: they are gone without a wait. */
  readonly #disowned = new Set<string>()
  #cancelFence: (() => void) | null = null
  /** When the nodes were last looked at, by the monotonic clock. */
  #lookedAt = 0
  readonly #unserved: UnservedReport
  #aliveSince = 0
  readonly #retention: Retention
  readonly #figures: FigureSender

  constructor(env: Env, dispatcher: Dispatcher, session: () => Session, fence: (reason: string) => void) {
    const { store, clock, options, log } = env
    this.#env = env
    // A clock that is moved by hand does not move while the process is blocked.
    this.#pulse =
      store.reopen && clock === systemClock
        ? new Pulse({ reopen: store.reopen, beatMs: options.beatMs, ttlMs: options.ttlMs }, log)
        : null
    this.#retention = new Retention(env)
    this.#figures = new FigureSender(env)
    this.#unserved = new UnservedReport(env)
    this.#dispatcher = dispatcher
    this.#session = session
    this.#fence = fence
  }

  async beatOnce(phase: 'stay' | 'leave' = 'stay'): Promise<Wait> {
    const { store, clock, time, options } = this.#env
    const session = this.#session()
    while (session.beating) await session.beating
    session.beatBegins()
    this.#armFence(session)
    const [sentAt, sentWallAt] = [clock.mono(), clock.wall()]
    const isLeavingWork = phase === 'leave' && session.claims.size > 0
    const sent = store.beat({
      // Work that is left behind need not wait until this node is taken for gone.
      node: { ...this.#nodeInfo(session), ...(isLeavingWork && { ttlMs: 0 }) },
      claims: [...session.claims.keys()],
      // A node that leaves has no call under way: what it may have taken is given back.
      inFlight: phase === 'leave' ? [] : [...session.inFlight],
      long: this.#longTurns(),
      phase: session.isJoined ? phase : 'join',
    })
    const answer = await sent.finally(() => session.beatEnds())
    time.observe(answer.now, sentAt)
    if (session.isFenced) return 0
    if (!answer.known) {
      this.#fence('the store no longer knows this node')
      return 0
    }
    session.isJoined = true
    session.beatAt = sentAt
    session.beatWallAt = sentWallAt
    if (answer.aliveSince !== this.#aliveSince) this.#env.events.emit('signal.gap', null)
    this.#aliveSince = answer.aliveSince
    this.rest()
    if (phase === 'stay') this.#pulse?.beaten(session.boot, this.#longestBlockMs())
    if (answer.isDraining) this.#drain(session)
    if (answer.lost.length > 0) this.#loseClaims(session, answer.lost)
    for (const { ref, turn } of answer.over) this.#dispatcher.lose(ref, turn)
    for (const { ref, turn, reason } of answer.cancels) this.#dispatcher.abort(ref, turn, 'cancel', reason)
    // A store that keeps figures waiting must not keep the next beat, and with it the fence, from its time.
    if (phase === 'leave') await this.#figures.sendLast(session.boot)
    else void this.#figures.send(session.boot)
    // Due work that waits for a slot or a handler is late only while a node is there to see it.
    return this.#dispatcher.isIdle && this.#unserved.isEmpty ? { poll: options.beatMs } : options.beatMs
  }

  #drain(session: Session): void {
    if (session.isDraining) return
    session.isDraining = true
    this.#env.log.info('This node drains: it takes no new work', { node: session.boot })
    this.#dispatcher.giveBackQueued()
    this.#env.events.emit('node.draining', { node: session.boot })
  }

  /** The session has ended: no thread beats for it any more. */
  leave(): void {
    this.rest()
    this.#pulse?.rest()
  }

  /** Ends the thread that beats for a blocked process. */
  async close(): Promise<void> {
    await this.#pulse?.stop()
  }

  /** The node has let go of this boot id. */
  disown(boot: string): void {
    this.#disowned.add(boot)
  }

  /** How long a handler may block this process from now on: a thread beats for it so long, and not for ever. */
  #longestBlockMs(): number {
    const { time, options } = this.#env
    const now = time.now()
    const { executionTimeoutMs } = cascade(options.settings)
    return Math.max(
      executionTimeoutMs + options.writeOffMs,
      ...[...this.#dispatcher.live].map(({ deadlineAt }) => deadlineAt - now),
    )
  }

  /** Takes the fence back: a beat was acknowledged, or the session has ended. */
  rest(): void {
    this.#cancelFence?.()
    this.#cancelFence = null
  }

  /** Ends the turns that this node has left behind under an earlier boot id. */
  async rescueLeft(boot: string): Promise<void> {
    const { nodes } = await this.#env.store.nodes()
    const left = nodes.filter((node) => node.boot === boot)
    if (left.length > 0) await this.#rescue(left.map(({ beats }) => ({ boot, beats })))
  }

  /** Takes over from nodes that have stopped beating. `isTick`: the looks are as far apart as the host's ticks. */
  async watchOnce({ isTick = false } = {}): Promise<Wait> {
    const { store, clock, events, options } = this.#env
    const { nodes, unserved, isRescueDue } = await store.nodes()
    events.emit('signal.nodes', nodes)
    this.#unserved.note(unserved)
    const mono = clock.mono()
    const wasAway = !isTick && mono - this.#lookedAt > options.watchMs + blockedMs
    this.#lookedAt = mono
    const silent = this.#observe(nodes, mono)
    // A process that was blocked or frozen has seen nothing of the others' beats. Those that were blocked with it beat now.
    const gone = wasAway ? [] : silent
    if (gone.length > 0 || isRescueDue) await this.#rescue(gone.map(({ boot, beats }) => ({ boot, beats })))
    if (silent.length > gone.length) return blockedMs
    return { in: this.#silenceEndsInMs(nodes, clock.mono()), poll: options.watchMs }
  }

  /** When the first of the nodes that were seen to beat would be gone, should it stay silent. Its work need not wait for the next look. */
  #silenceEndsInMs(nodes: readonly NodeRecord[], mono: number): number {
    const lefts = nodes.map(({ boot, ttlMs }) => {
      const seen = this.#seen.get(boot)
      return seen ? seen.at + ttlMs - mono : 0
    })
    return Math.min(...lefts.filter((left) => left > 0))
  }

  async pruneOnce(): Promise<Wait> {
    const { store, time, options } = this.#env
    await this.#figures.takeGauge()
    const before = (ms: number | null) => (ms === null ? null : time.now() - ms)
    const { more } = await store.prune({
      ...(await this.#retention.rules()),
      keyRetentionMs: options.keyRetentionMs,
      auditBefore: before(options.auditRetentionMs),
      pausesBefore: before(options.pauseRetentionMs),
      rangesBefore: before(options.rangeRetentionMs),
      versionsBefore: before(options.versionRetentionMs),
      limit: prunePerPass,
    })
    return more ? pruneAgainMs : { poll: pruneEveryMs }
  }

  /**
   * A node whose beat is not acknowledged before nearly its ttl has passed may be taken for gone at any moment: it stops itself without
   * asking. A node that was blocked learns from the answer to its next beat what it still holds, and waits for that answer for the margin.
   */
  #armFence(session: Session): void {
    if (this.#cancelFence || !session.isJoined) return
    const { clock, options } = this.#env
    const leftMs = session.beatAt + options.ttlMs - options.ttlMarginMs - clock.mono()
    const firesAt = clock.mono() + Math.max(leftMs, options.ttlMarginMs)
    this.#cancelFence = clock.timer(firesAt - clock.mono(), () => {
      this.#cancelFence = null
      // Of a loop that was blocked, timers run before the answers that have arrived meanwhile.
      if (clock.mono() - firesAt > blockedMs) this.#armFence(session)
      else this.#fence(`no beat was acknowledged for ${Math.round(clock.mono() - session.beatAt)} ms`)
    })
  }

  #nodeInfo({ boot, isDraining }: Session): NodeInfo {
    const { options, registry } = this.#env
    return {
      boot,
      name: options.nodeName,
      pid: process.pid,
      concurrency: options.concurrency,
      kinds: registry.kinds(),
      version,
      tz: tzVersion(),
      ttlMs: options.ttlMs,
      release: options.release,
      declares: Object.fromEntries(this.#env.declared),
      picks: options.pick !== 'priority',
      isDraining,
      parts: Object.fromEntries([...this.#env.parts].map(([name, state]) => [name, state()])),
    }
  }

  #longTurns() {
    const { time, options } = this.#env
    const since = time.now() - options.beatMs
    return [...this.#dispatcher.live].flatMap(({ startedAt, member: { ref, turn }, deadlineAt }) => {
      return startedAt !== null && startedAt <= since ? [{ ref, turn, startedAt, deadlineAt }] : []
    })
  }

  #loseClaims(session: Session, lost: readonly string[]): void {
    // A claim can be settled to its end while the beat was under way: only those still held are lost.
    const held = new Set(lost.filter((id) => session.claims.has(id)))
    for (const id of held) session.claims.delete(id)
    this.#dispatcher.abandon(({ claim }) => held.has(claim.id))
  }

  #observe(nodes: readonly NodeRecord[], mono: number): NodeRecord[] {
    const { boot: own } = this.#session()
    for (const boot of [...this.#seen.keys(), ...this.#disowned]) {
      if (nodes.some((node) => node.boot === boot)) continue
      this.#seen.delete(boot)
      this.#disowned.delete(boot)
    }
    return nodes.filter((node) => {
      if (node.boot === own) return false
      if (this.#disowned.has(node.boot)) return true
      const before = this.#seen.get(node.boot)
      if (before?.beats === node.beats) return mono - before.at >= node.ttlMs
      this.#seen.set(node.boot, { beats: node.beats, at: mono })
      return false
    })
  }

  async #announce(id: string): Promise<void> {
    try {
      await announceUnattendedEnd(this.#env, { id })
    } catch (error) {
      this.#env.log.error('The end of rescued work could not be announced', { occurrence: id, error: errorText(error) })
    }
  }

  async #rescue(gone: readonly { boot: string; beats: number }[]): Promise<void> {
    const { store, events, options, registry } = this.#env
    // The work of one node may take several calls: the event comes with the last of them.
    let count = { rescued: 0, dead: 0 }
    for (;;) {
      const { rescued, removed, more, expired, openHooks } = await store.rescue({
        gone,
        settings: options.settings,
        mostRecoveries: options.mostRecoveries,
        limit: claimsPerRescue,
        kinds: registry.kinds(),
        hookMs: cascade(options.settings).timeoutMs + options.ttlMs,
      })
      const dead = rescued.filter(({ outcome }) => outcome === 'dead').length
      count = { rescued: count.rescued + rescued.length, dead: count.dead + dead }
      for (const node of removed) events.emit('node.gone', { node, ...count })
      if (removed.length > 0) count = { rescued: 0, dead: 0 }
      for (const passed of expired) notePassed(this.#env, passed)
      for (const { id, outcome } of rescued) if (ends.includes(outcome)) await this.#announce(id)
      if (openHooks.length > 0) events.emit('signal.openHooks', openHooks)
      if (!more) return
    }
  }
}
