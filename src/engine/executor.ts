import type { AbortReason } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { Source, TurnEnd } from '../model/lifecycle.ts'
import type { AttemptRecord, TurnRecord } from '../model/occurrence.ts'
import { validatePayload } from '../model/payload.ts'
import type { ExecutionReport } from '../model/report.ts'
import type { Settings } from '../model/settings.ts'
import type { ClaimMember, WriteAnswer } from '../store/store.ts'
import { pauseAfterFailures } from './auto-pause.ts'
import type { Asker } from './batcher.ts'
import type { Env } from './env.ts'
import type { Execution } from './execution.ts'
import { type HookRun, runHook } from './hooks.ts'
import type { Recorder } from './recorder.ts'
import { FailedTurn, ReportedTurn } from './reported-turn.ts'
import { TaskRunner, type TasksListener, type TasksOutcome } from './task-runner.ts'
import { announceUnattendedEnd } from './unattended-end.ts'

/** How a turn was settled, for those who count. */
export type TurnResult = TurnEnd | 'abandoned'

/** Who hears how a turn goes on this node. */
export interface TurnListener {
  /** The handlers have ended and the slot is free; the settlement has not been written yet. */
  handlersEnded(): void
  turnEnded(executor: Executor, result: TurnResult): void
  /** What the turn did could not be recorded. */
  turnRefused(executor: Executor, error: unknown): void
}

/**
 * One member of a claim on its way: resolve → begin → run tasks → decide → settle → announce. Each step calls the next, and only
 * one that has something to wait for, such as a hook, is a promise: thousands of turns pass here in a second.
 */
export class Executor implements TasksListener, Asker<WriteAnswer> {
  readonly #execution: Execution
  readonly #env: Env
  readonly #recorder: Recorder
  readonly #listener: TurnListener
  /** Where it stands among the live turns. */
  place = 0
  #runner: TaskRunner | null = null
  #abort: { reason: AbortReason; detail: string | null } | null = null
  #startedAt: number | null = null
  #endedAt = 0
  #end: TurnEnd = 'released'
  #outcome: TasksOutcome = ending('released')

  constructor(execution: Execution, recorder: Recorder, listener: TurnListener) {
    this.#execution = execution
    this.#env = execution.env
    this.#recorder = recorder
    this.#listener = listener
  }

  get claimId(): string {
    return this.#execution.claim.id
  }

  get member(): ClaimMember {
    return this.#execution.member
  }

  get startedAt(): number | null {
    return this.#startedAt
  }

  /** The last moment at which this turn can still be running when all goes well. */
  get deadlineAt(): number {
    const { settings } = this.#execution
    return (this.#startedAt ?? 0) + settings.executionTimeoutMs + this.#env.options.writeOffMs + this.#env.options.beatMs
  }

  abort(reason: AbortReason, detail: string | null = null): void {
    this.#abort ??= { reason, detail }
    this.#runner?.abort(reason, detail)
  }

  run(): void {
    const mono = this.#env.clock.mono()
    const aborted = this.#aborted()
    if (aborted) this.tasksEnded(aborted)
    else if (this.#begin(mono)) this.#prepareAndRun().catch((error: unknown) => this.tasksRefused(error))
    else this.#runTasks(mono)
  }

  async #prepareAndRun(): Promise<void> {
    const ended = (await this.#prepare()) ?? this.#aborted()
    if (ended) this.tasksEnded(ended)
    else this.#runTasks(this.#env.clock.mono())
  }

  /** What is left to do when the signal came before any handler ran. */
  #aborted(): TasksOutcome | null {
    if (!this.#abort) return null
    if (this.#abort.reason === 'lost') return ending('abandoned')
    return ending(this.#abort.reason === 'cancel' ? 'canceled' : 'released')
  }

  /** Notes the start. True when something has to be done before the first handler may run. */
  #begin(mono: number): boolean {
    const { member, record, env, runnable } = this.#execution
    this.#startedAt = env.time.at(mono)
    if (env.events.has('occurrence.started'))
      env.events.emit('occurrence.started', { ...this.#execution.event(), latenessMs: this.#startedAt - member.dueAt })
    const { payload, onStart } = runnable.definition.options
    return member.recoveries > 0 || payload !== undefined || onStart !== undefined || record.replay?.tasks != null
  }

  /** Records the start of an occurrence that was lost before, lets the schema have the payload, and runs `onStart`. */
  async #prepare(): Promise<TasksOutcome | null> {
    const execution = this.#execution
    const { member, record, env } = execution
    if (member.recoveries > 0) {
      const start = { startedAt: this.#startedAt as number, deadlineAt: this.deadlineAt }
      if ((await execution.checkpoint({ attempts: [], start })) === 'lost') return ending('abandoned')
    }
    if (record.replay?.tasks) await execution.takeOver(record.replay.origin, record.replay.tasks)
    const { payload: schema, onStart } = execution.runnable.definition.options
    if (schema) {
      try {
        execution.payload = await validatePayload(schema, execution.payload, record.job)
      } catch (error) {
        return { ...ending('failed'), error: errorRecord(error) }
      }
    }
    const hasStarted = member.turns.some((turn) => turn.startedAt !== null && turn.end !== 'lost' && turn.end !== 'stale')
    if (onStart && !hasStarted) await runHook(env.clock, this.#hookRun('onStart'), () => onStart(execution.hookContext()))
    return null
  }

  #runTasks(mono: number): void {
    this.#runner = new TaskRunner(this.#execution, this)
    this.#runner.run(mono)
  }

  tasksEnded(outcome: TasksOutcome): void {
    this.#runner = null
    this.#endedAt = this.#env.time.now()
    this.#outcome = outcome
    try {
      // The slot goes to the next turn, whatever may be wrong with that one.
      this.#listener.handlersEnded()
      this.#decide(outcome)
    } catch (error) {
      this.refused(error)
    }
  }

  #decide(outcome: TasksOutcome): void {
    const { settings, record, runnable, progressing } = this.#execution
    if (outcome.end === 'abandoned') return this.#conclude('abandoned')
    this.#end = outcome.end === 'failed' && goesToDeadLetters(settings, record.source) ? 'dead' : outcome.end
    const isCompleted = runnable.definition.options.onComplete !== undefined && !goesOn(this.#end)
    if (isCompleted || progressing) this.#finishUp(isCompleted).catch((error: unknown) => this.refused(error))
    else this.#settle()
  }

  /** The store refused to record what the tasks did. */
  tasksRefused(error: unknown): void {
    this.#runner = null
    this.#listener.handlersEnded()
    this.refused(error)
  }

  /** Runs `onComplete`, and lets the newest progress reach the store, before the end does. */
  async #finishUp(isCompleted: boolean): Promise<void> {
    const { onComplete } = this.#execution.runnable.definition.options
    if (isCompleted) await runHook(this.#env.clock, this.#hookRun('onComplete'), () => onComplete?.(this.report(this.#end)))
    await this.#execution.progressing
    this.#settle()
  }

  /** Writes the end row. Whatever the store refuses has been ended by another, and is dropped. */
  #settle(): void {
    const { claim, member } = this.#execution
    const { attempts, delayMs } = this.#outcome
    const only = this.#onlyAttempt()
    this.#recorder.settleFor(this, {
      claim,
      member,
      end: this.#endRow(only),
      attempts: only ? [] : attempts,
      delayMs,
    })
  }

  answered(answer: WriteAnswer): void {
    const result = answer === 'ok' ? this.#end : 'abandoned'
    if (this.#hasSequel(result)) this.#concludeWithSequel(result).catch((error: unknown) => this.refused(error))
    else this.#conclude(result)
  }

  refused(error: unknown): void {
    this.#listener.turnRefused(this, error)
  }

  #conclude(result: TurnResult): void {
    this.#announce(result)
    this.#listener.turnEnded(this, result)
  }

  /** Whether the end of this turn may bring about more in the store. */
  #hasSequel(result: TurnResult): boolean {
    const { settings, runnable } = this.#execution
    if (goesOn(result)) return runnable.definition.options.onComplete !== undefined
    return (result === 'failed' || result === 'dead') && settings.autoPause !== null
  }

  async #concludeWithSequel(result: TurnResult): Promise<void> {
    if (goesOn(result) && (await this.#wasCanceled())) return this.#listener.turnEnded(this, 'canceled')
    this.#announce(result)
    if (!goesOn(result)) await pauseAfterFailures(this.#execution)
    this.#listener.turnEnded(this, result)
  }

  /** Whether what was to go on has ended, since a cancel came in meanwhile; if so, that is announced. */
  async #wasCanceled(): Promise<boolean> {
    return announceUnattendedEnd(this.#env, { id: this.#execution.record.id }).catch((error: unknown) => {
      this.#execution.log.warn('It could not be read whether a cancel came in between', { error: String(error) })
      return false
    })
  }

  #hookRun(name: HookRun['name']): HookRun {
    return { name, timeoutMs: this.#execution.settings.timeoutMs, log: this.#execution.log }
  }

  /** The attempt that the turn also is, so that it needs no record of its own: the only one of the only task. */
  #onlyAttempt(): AttemptRecord | null {
    const { runs } = this.#execution
    const [first] = this.#outcome.attempts
    // One that was tried again at once in the same turn is not the last.
    return runs.length === 1 && first?.n === runs[0]?.attempts ? (first as AttemptRecord) : null
  }

  #endRow(only: AttemptRecord | null): Omit<TurnRecord, 'turn' | 'node'> {
    const { runs, held } = this.#execution
    const { error, result } = this.#outcome
    return {
      end: this.#end,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      result: this.#end === 'completed' ? result : null,
      error,
      attempt: only?.state ?? null,
      settings: held.kept,
      tasks: runs.length === 1 ? null : runs.map((run) => run.report()),
      reason: this.#end === 'canceled' ? (this.#abort?.detail ?? null) : null,
    }
  }

  report(outcome: TurnEnd): ExecutionReport {
    const { record, member, settings, runs, isGraph } = this.#execution
    const endedAt = this.#endedAt
    const startedAt = this.#startedAt ?? endedAt
    return {
      occurrenceId: record.id,
      tenant: record.tenant,
      job: record.job,
      source: record.source,
      turn: member.turn,
      outcome,
      mode: isGraph ? 'graph' : settings.mode,
      onFailure: settings.onFailure,
      startedAt: new Date(startedAt),
      endedAt: new Date(endedAt),
      durationMs: endedAt - startedAt,
      tasks: runs.map((run) => run.report()),
    }
  }

  #announce(result: TurnResult): void {
    const { events } = this.#env
    const { error, delayMs } = this.#outcome
    const execution = this.#execution
    if (result === 'completed' || result === 'failed' || result === 'dead') {
      if (result === 'completed') events.emit('occurrence.completed', new ReportedTurn(this, result, error))
      else events.emit('occurrence.failed', new FailedTurn(this, result, error))
    } else if (result === 'abandoned') events.emit('occurrence.lost', execution.event())
    else if (result === 'parked') events.emit('occurrence.retrying', { ...execution.event(), dueInMs: delayMs, error })
    else if (result === 'canceled')
      events.emit('occurrence.canceled', { ...execution.event(), reason: this.#abort?.detail ?? null })
    else if (result === 'released') events.emit('occurrence.released', execution.event())
  }
}

function goesOn(result: TurnResult): boolean {
  return result === 'parked' || result === 'released'
}

/** Whether work out of retries waits for a person: enqueued work does, unless told otherwise. */
function goesToDeadLetters({ deadLetter }: Settings, source: Source): boolean {
  return deadLetter === 'enqueued' ? source === 'deferred' || source === 'timer' : deadLetter
}

function ending(end: TasksOutcome['end']): TasksOutcome {
  return { end, delayMs: 0, error: null, result: null, attempts: [] }
}
