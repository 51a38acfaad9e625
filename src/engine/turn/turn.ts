import type { AbortReason, Logger } from '../../model/context.ts'
import { errorRecord, errorText } from '../../model/error-record.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { AttemptLog, AttemptRecord, OccurrenceRecord, TurnRecord } from '../../model/occurrence.ts'
import { decodePayload } from '../../model/payload.ts'
import { Redactor } from '../../model/redaction.ts'
import type { ErrorRecord } from '../../model/report.ts'
import type { Settings } from '../../model/settings.ts'
import type { CheckpointItem, ClaimMember, ClaimRef, MemberWrite, SettleItem, WriteAnswer } from '../../store/store.ts'
import type { Env } from '../env.ts'
import type { Asker } from '../record/batcher.ts'
import type { Recorder } from '../record/recorder.ts'
import { announceStart } from './announce.ts'
import type { Attempt } from './attempt.ts'
import { finish, refuse, settle, settled } from './ending.ts'
import type { LogNotes } from './log-notes.ts'
import { needsPreparation, prepare } from './prepare.ts'
import { ProgressNotes } from './progress-notes.ts'
import { begin, pump, takeIn } from './pump.ts'
import { type TaskRun, taskRuns } from './task-run.ts'
import type { TurnSettings } from './turn-settings.ts'

/** How a turn was settled. `abandoned`: the occurrence is no longer this node's, and nothing may be written. */
export type TurnResult = TurnEnd | 'abandoned'

/** The node that a turn runs on. It follows the turn's progress. */
export interface TurnHost {
  readonly env: Env
  readonly recorder: Recorder
  /** The handlers have ended and the slot is free. `isSettled`: the end is about to be written. */
  handlersEnded(isSettled: boolean): void
  turnEnded(turn: Turn, result: TurnResult): void
  /** Whether the turn must be given back, since its rate was counted too long ago. */
  isTooLate(turn: Turn): boolean
  /** The store refused to record what the turn did. */
  turnRefused(turn: Turn, error: unknown): void
}

/** The members that one claim took. */
export interface Batch {
  readonly claim: ClaimRef
  readonly queuedAt: number
  /** Until when work with a rate may start. */
  readonly startBy: number
  /** Claimed ahead of a free slot. False for `runDue`, which waits for this node to run it. */
  readonly isAhead: boolean
  readonly last: ClaimMember | undefined
}

const none: readonly never[] = []

/**
 * One member of a claim on its way: queued, prepared, pumped, settled (it is the settle item) and announced. Each step calls the
 * next, and only one that has something to wait for, such as a hook, is a promise: thousands of turns pass here in a second.
 */
export class Turn implements SettleItem, Asker<WriteAnswer> {
  readonly host: TurnHost
  readonly env: Env
  readonly batch: Batch
  readonly shared: TurnSettings
  /** Its place among the live turns. */
  place = 0
  /** In the order of the graph; empty until the start. */
  runs: readonly TaskRun[] = none
  startedAt: number | null = null
  endedAt = 0
  error: ErrorRecord | null = null
  /** Why no task is started any more. */
  stop: { readonly reason: AbortReason; readonly detail: string | null } | null = null
  /** Its tasks are on their way. */
  isPumped = false
  /** Its handlers have ended or are written off. */
  isOver = false
  /** The last attempt of an only task: it gets no record as long as no other follows in the same turn. */
  onlyAttempt: Attempt | null = null
  cancelRetry: (() => void) | null = null
  cancelDeadline: (() => void) | null = null
  cancelHook: (() => void) | null = null
  #payload: { readonly value: unknown } | null = null
  #redactor: Redactor | null = null
  #progress: ProgressNotes | null = null
  #logs: readonly LogNotes[] = none

  // The settle item.
  readonly claim: ClaimRef
  readonly member: ClaimMember
  end!: Omit<TurnRecord, 'turn' | 'node'>
  /** Attempts that are not in the store yet. */
  attempts: readonly AttemptRecord[] = none
  /** Attempts of this turn that are in the store. */
  saved: readonly AttemptRecord[] = none
  logs: readonly AttemptLog[] = none
  delayMs = 0
  hookMs = 0

  constructor(host: TurnHost, batch: Batch, member: ClaimMember, shared: TurnSettings) {
    this.host = host
    this.env = host.env
    this.batch = batch
    this.claim = batch.claim
    this.member = member
    this.shared = shared
  }

  /** Its number among the turns of the occurrence. */
  get n(): number {
    return this.member.turn
  }

  get record(): OccurrenceRecord {
    return this.member.record
  }

  get settings(): Settings {
    return this.shared.settings
  }

  /** Decoded at its first use; the value that the schema returns replaces it. */
  get payload(): unknown {
    this.#payload ??= { value: decodePayload(this.record.payload) }
    return this.#payload.value
  }

  set payload(value: unknown) {
    this.#payload = { value }
    this.#redactor = null
  }

  /** Null for a job without `redact`. */
  get redactor(): Redactor | null {
    const { redact } = this.shared.runnable.definition.settings
    if (!redact) return null
    this.#redactor ??= new Redactor(redact, [decodePayload(this.record.payload), this.payload])
    return this.#redactor
  }

  /** The text without the hidden values of the payload. */
  redacted(text: string): string {
    return this.redactor?.text(text) ?? text
  }

  /** The record of a failure of this turn. */
  errorOf(thrown: unknown): ErrorRecord {
    return errorRecord(thrown, (text) => this.redacted(text))
  }

  get progress(): ProgressNotes {
    this.#progress ??= new ProgressNotes(this)
    return this.#progress
  }

  /** Resolves when the newest progress is written; null when none is on its way. */
  get progressing(): Promise<void> | null {
    return this.#progress?.writing ?? null
  }

  /** Lines of an attempt of this turn. */
  addLog(notes: LogNotes): void {
    this.#logs = [...this.#logs, notes]
  }

  /** Lines that its end has to carry. */
  endLogs(): void {
    if (this.#logs.length > 0) this.logs = this.#logs.flatMap((notes) => notes.end() ?? [])
  }

  get log(): Logger {
    return this.logger()
  }

  /** @param keep Gets each line, too, without the hidden values of the payload. */
  logger(keep?: (level: keyof Logger, message: string, fields: object) => void): Logger {
    const { id, tenant, job } = this.record
    const ids = { tenant, job, occurrence: id, turn: this.n }
    const line = (level: keyof Logger) => (given: string, more?: object) => {
      const message = this.redacted(String(given))
      const fields = readable(more, this.redactor)
      this.env.log[level](message, { ...ids, ...fields })
      keep?.(level, message, fields)
    }
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  /** How long one attempt may take: the only task of an occurrence is bound by the execution's timeout, too. */
  timeoutMs({ settings }: TaskRun): number {
    return this.runs.length > 1 ? settings.timeoutMs : Math.min(settings.timeoutMs, this.settings.executionTimeoutMs)
  }

  /** The last moment at which this turn can still be running when all goes well. */
  get deadlineAt(): number {
    const { writeOffMs, beatMs } = this.env.options
    return (this.startedAt ?? 0) + this.settings.executionTimeoutMs + writeOffMs + beatMs
  }

  /** The reason that was given for a cancel, if there was one. */
  get cancelReason(): string | null {
    return this.stop?.reason === 'cancel' ? this.stop.detail : null
  }

  checkpoint(what: Omit<CheckpointItem, keyof MemberWrite>): Promise<WriteAnswer> {
    const { claim, member } = this
    return this.host.recorder.checkpoint({ claim, member, ...what })
  }

  /** Records the end of an attempt in one commit with the handler's own writes. */
  commit(
    attempt: AttemptRecord,
    work: Required<Pick<CheckpointItem, 'within' | 'recorded' | 'changes' | 'events'>>,
  ): Promise<WriteAnswer> {
    const { claim, member } = this
    return this.host.recorder.commit({ claim, member, attempts: [attempt], ...work })
  }

  start(): void {
    const mono = this.env.clock.mono()
    this.runs = taskRuns(this.shared, this.member)
    const unstarted = this.#unstartedEnd()
    if (unstarted) return finish(this, unstarted)
    this.startedAt = this.env.time.at(mono)
    announceStart(this)
    if (needsPreparation(this)) this.#prepare().catch((error: unknown) => refuse(this, error))
    else begin(this, mono)
  }

  /** Gives the occurrence back without a start. */
  release(delayMs = 0): void {
    this.isOver = true
    this.endedAt = this.env.time.now()
    this.delayMs = delayMs
    settle(this, 'released')
  }

  /** Signals every running task and starts no other. A cancel stands, whatever follows but for a loss. */
  abort(reason: AbortReason, detail: string | null = null): void {
    const before = this.stop?.reason
    if (reason === 'lost') this.cancelHook?.()
    if (this.isOver || before === 'lost' || (before === 'cancel' && reason !== 'lost')) return
    this.stop = { reason, detail }
    for (const run of this.runs) run.attempt?.abort(reason, detail)
    // The caller is in the middle of something: the pump follows it.
    if (this.isPumped) queueMicrotask(() => pump(this))
  }

  async #prepare(): Promise<void> {
    const ended = (await prepare(this)) ?? this.#unstartedEnd()
    if (ended) finish(this, ended)
    else begin(this, this.env.clock.mono())
  }

  /** How the turn ends when it was stopped before any handler ran. */
  #unstartedEnd(): TurnResult | null {
    if (!this.stop) return null
    if (this.stop.reason === 'lost') return 'abandoned'
    return this.stop.reason === 'cancel' ? 'canceled' : 'released'
  }

  attemptEnded(attempt: Attempt): void {
    try {
      takeIn(this, attempt)
    } catch (error) {
      refuse(this, error)
    }
  }

  answered(answer: WriteAnswer): void {
    settled(this, answer)
  }

  refused(error: unknown): void {
    this.host.turnRefused(this, error)
  }
}

/** Fields of a line of the user's. One that throws when it is read costs the fields, not the attempt. */
function readable(fields: object | undefined, redactor: Redactor | null): object {
  try {
    return { ...((redactor?.value(fields) ?? fields) as object | undefined) }
  } catch (error) {
    return { unreadable: errorText(error) }
  }
}
