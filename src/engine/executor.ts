import type { AbortReason } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { OccurrenceEvent } from '../model/events.ts'
import type { Source, TurnEnd } from '../model/lifecycle.ts'
import type { TurnRecord } from '../model/occurrence.ts'
import { decodePayload, validatePayload } from '../model/payload.ts'
import type { ErrorRecord, ExecutionReport } from '../model/report.ts'
import type { Settings } from '../model/settings.ts'
import type { ClaimMember, ClaimRef } from '../store/store.ts'
import type { Env } from './env.ts'
import { Execution } from './execution.ts'
import { type HookRun, runHook } from './hooks.ts'
import type { Recorder } from './recorder.ts'
import type { Runnable } from './registry.ts'
import { TaskRunner, type TasksOutcome } from './task-runner.ts'
import { announceUnattendedEnd } from './unattended-end.ts'

/** How a turn was settled, for those who count. */
export type TurnResult = TurnEnd | 'abandoned'

/** One member of a claim on its way: resolve → begin → run tasks → decide → settle → announce. */
export class Executor {
  readonly #execution: Execution
  readonly #env: Env
  readonly #recorder: Recorder
  #runner: TaskRunner | null = null
  #abort: { reason: AbortReason; detail: string | null } | null = null
  #startedAt: number | null = null
  #endedAt = 0
  /** Called when the handlers have ended and the slot is free, before the settlement has been written. */
  onHandlersEnded: () => void = () => {}

  constructor(env: Env, recorder: Recorder, claim: ClaimRef, member: ClaimMember, runnable: Runnable) {
    this.#env = env
    this.#recorder = recorder
    this.#execution = new Execution(env, recorder, claim, member, runnable)
  }

  get claimId(): string {
    return this.#execution.claim.id
  }

  get turn(): number {
    return this.#execution.member.turn
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

  async run(): Promise<TurnResult> {
    let outcome: TasksOutcome
    try {
      outcome = this.#aborted() ?? (this.#begin() ? await this.#prepare() : null) ?? this.#aborted() ?? (await this.#runTasks())
    } finally {
      this.#runner = null
      this.onHandlersEnded()
    }
    const result = await this.#settle(outcome)
    if ((result === 'parked' || result === 'released') && (await this.#wasCanceled())) return 'canceled'
    this.#announce(result, outcome)
    if (result === 'failed' || result === 'dead') await this.#pauseAfterFailures()
    return result
  }

  /** Pauses the job once it has failed as often in a row as it may. A crash before this leaves it to the next failure. */
  async #pauseAfterFailures(): Promise<void> {
    const { settings, record, env } = this.#execution
    if (settings.autoPause === null) return
    const { tenant, job } = record
    try {
      const { failuresInRow } = await env.store.counts({ tenant, job })
      if (failuresInRow < settings.autoPause) return
      const reason = `${failuresInRow} failures in a row`
      const { outcome } = await env.store.pause({ tenant, job, open: { until: null, reason, by: 'punctual' } })
      if (outcome === 'paused') env.events.emit('job.paused', { tenant, job, reason })
    } catch (error) {
      env.log.error('A job could not be paused after its failures', { tenant, job, error: String(error) })
    }
  }

  /** Notes the start. True when something has to be done before the first handler may run. */
  #begin(): boolean {
    const { member, record, env, runnable } = this.#execution
    this.#startedAt = env.time.now()
    this.#execution.payload = decodePayload(record.payload)
    env.events.has('occurrence.started') &&
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

  /** What is left to do when the signal came before any handler ran. */
  #aborted(): TasksOutcome | null {
    if (!this.#abort) return null
    if (this.#abort.reason === 'lost') return ending('abandoned')
    return ending(this.#abort.reason === 'cancel' ? 'canceled' : 'released')
  }

  #runTasks(): Promise<TasksOutcome> {
    this.#runner = new TaskRunner(this.#execution)
    return this.#runner.run()
  }

  /** Writes the end row. Whatever the store refuses has been ended by another, and is dropped. */
  async #settle(outcome: TasksOutcome): Promise<TurnResult> {
    if (outcome.end === 'abandoned') return 'abandoned'
    const execution = this.#execution
    this.#endedAt = this.#env.time.now()
    const end = outcome.end === 'failed' && goesToDeadLetters(execution.settings, execution.record.source) ? 'dead' : outcome.end
    const { onComplete } = execution.runnable.definition.options
    if (onComplete && end !== 'parked' && end !== 'released')
      await runHook(this.#env.clock, this.#hookRun('onComplete'), () => onComplete(this.#report(end)))
    if (execution.progressing) await execution.progressing
    const answer = await this.#recorder.settle({
      ...execution.memberRef,
      end: this.#endRow(end, outcome),
      attempts: execution.runs.length === 1 ? [] : outcome.attempts,
      delayMs: outcome.delayMs,
    })
    return answer === 'ok' ? end : 'abandoned'
  }

  /** Whether what was to go on has ended, since a cancel came in meanwhile; if so, that is announced. */
  async #wasCanceled(): Promise<boolean> {
    const { record, runnable } = this.#execution
    if (!runnable.definition.options.onComplete) return false
    return announceUnattendedEnd(this.#env, { id: record.id }).catch((error: unknown) => {
      this.#execution.log.warn('It could not be read whether a cancel came in between', { error: String(error) })
      return false
    })
  }

  #hookRun(name: HookRun['name']): HookRun {
    return { name, timeoutMs: this.#execution.settings.timeoutMs, log: this.#execution.log }
  }

  #endRow(end: TurnEnd, { error, result, attempts }: TasksOutcome): Omit<TurnRecord, 'turn' | 'node'> {
    const { runs, held } = this.#execution
    const isSolo = runs.length === 1
    return {
      end,
      startedAt: this.#startedAt,
      endedAt: this.#endedAt,
      result: end === 'completed' ? result : null,
      error,
      attempt: isSolo ? (attempts[0]?.state ?? null) : null,
      settings: held.kept,
      tasks: isSolo ? null : runs.map((run) => run.report()),
      reason: end === 'canceled' ? (this.#abort?.detail ?? null) : null,
    }
  }

  #report(outcome: TurnEnd): ExecutionReport {
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

  #announce(result: TurnResult, { error, delayMs }: TasksOutcome): void {
    const { events } = this.#env
    const execution = this.#execution
    if (result === 'completed' || result === 'failed' || result === 'dead') {
      const event = new Reported(execution, error, () => this.#report(result))
      if (result === 'completed') events.emit('occurrence.completed', event)
      else events.emit(result === 'failed' ? 'occurrence.failed' : 'occurrence.dead', event)
    } else if (result === 'abandoned') events.emit('occurrence.lost', execution.event())
    else if (result === 'parked') events.emit('occurrence.retrying', { ...execution.event(), dueInMs: delayMs, error })
    else if (result === 'canceled')
      events.emit('occurrence.canceled', { ...execution.event(), reason: this.#abort?.detail ?? null })
    else if (result === 'released') events.emit('occurrence.released', execution.event())
  }
}

/** An event whose report is made when somebody reads it: at full speed most are read by nobody. */
class Reported implements OccurrenceEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly source: Source
  readonly turn: number
  readonly error: ErrorRecord | null
  readonly #make: () => ExecutionReport
  #report: ExecutionReport | null = null

  constructor({ record, member }: Execution, error: ErrorRecord | null, make: () => ExecutionReport) {
    this.id = record.id
    this.tenant = record.tenant
    this.job = record.job
    this.key = record.key
    this.source = record.source
    this.turn = member.turn
    this.error = error
    this.#make = make
  }

  get report(): ExecutionReport {
    this.#report ??= this.#make()
    return this.#report
  }
}

/** Whether work out of retries waits for a person: enqueued work does, unless told otherwise. */
function goesToDeadLetters({ deadLetter }: Settings, source: Source): boolean {
  return deadLetter === 'enqueued' ? source === 'deferred' || source === 'timer' : deadLetter
}

function ending(end: TasksOutcome['end']): TasksOutcome {
  return { end, delayMs: 0, error: null, result: null, attempts: [] }
}
