import type { Logger } from '../model/context.ts'
import type { HookContext } from '../model/definition.ts'
import type { OccurrenceEvent, TaskEvent } from '../model/events.ts'
import { type TaskHistory, taskHistories } from '../model/history.ts'
import type { AttemptRecord, OccurrenceHistory, OccurrenceRecord } from '../model/occurrence.ts'
import { decodePayload } from '../model/payload.ts'
import type { RetryFunction } from '../model/retry.ts'
import type { Settings, TaskSettings } from '../model/settings.ts'
import type { CheckpointItem, ClaimMember, ClaimRef, MemberWrite, WriteAnswer } from '../store/store.ts'
import type { Env } from './env.ts'
import type { Recorder } from './recorder.ts'
import type { Runnable } from './registry.ts'
import { TaskRun } from './task-run.ts'
import { type TurnSettings, turnSettings } from './turn-settings.ts'

/** One turn of one occurrence on this node: what it is given, what its tasks have come to, and how it reaches the store. */
export class Execution {
  readonly env: Env
  readonly claim: ClaimRef
  readonly member: ClaimMember
  readonly runnable: Runnable
  /** Frozen at the first start: later turns run under the same. */
  readonly held: TurnSettings
  readonly runs: readonly TaskRun[]
  /** Null until somebody asks for it. */
  #payload: { readonly value: unknown } | null = null
  readonly #recorder: Recorder
  #progressing: Promise<unknown> | null = null
  #nextProgress: CheckpointItem['progress'] | null = null

  constructor(env: Env, recorder: Recorder, claim: ClaimRef, member: ClaimMember, runnable: Runnable) {
    this.env = env
    this.#recorder = recorder
    this.claim = claim
    this.member = member
    this.runnable = runnable
    this.held = turnSettings(env.options.settings, runnable, member)
    const { graph, tasks: taskSettings } = this.held
    const histories = taskHistories(graph, member.turns, member.attempts, true)
    this.runs = runnable.tasks.map(
      (task, at) =>
        new TaskRun(
          task,
          graph.get(task.name) as readonly string[],
          taskSettings[at] as TaskSettings,
          histories[at] as TaskHistory,
        ),
    )
  }

  get settings(): Settings {
    return this.held.settings
  }

  get isGraph(): boolean {
    return this.runnable.tasks.some((task) => task.after !== undefined)
  }

  get record(): OccurrenceRecord {
    return this.member.record
  }

  /** Decoded when first asked for, and what the schema made of it once it has. */
  get payload(): unknown {
    this.#payload ??= { value: decodePayload(this.record.payload) }
    return this.#payload.value
  }

  set payload(value: unknown) {
    this.#payload = { value }
  }

  /** How long one attempt may take: the only task of an occurrence is bound by the execution's timeout, too. */
  timeoutMs({ settings }: TaskRun): number {
    return this.runs.length > 1 ? settings.timeoutMs : Math.min(settings.timeoutMs, this.settings.executionTimeoutMs)
  }

  get memberWrite(): MemberWrite {
    return { claim: this.claim, member: this.member }
  }

  get retryFunction(): RetryFunction | undefined {
    return this.runnable.definition.retryFunction ?? this.env.options.retryFunction
  }

  get log(): Logger {
    const { id, tenant, job } = this.record
    const fields = { tenant, job, occurrence: id, turn: this.member.turn }
    const { log } = this.env
    const line = (level: keyof Logger) => (message: string, more?: object) => log[level](message, { ...fields, ...more })
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }

  /** Of a replay of single tasks: what the others came to in the original stands. */
  async takeOver(origin: string, replayed: readonly string[]): Promise<void> {
    const finished = await this.#finishedTasks(origin)
    for (const run of this.runs) {
      if (replayed.includes(run.name)) continue
      const before = finished.get(run.name)
      if (before?.state === 'succeeded') run.takeOver(before.result)
      else run.cancel(null)
    }
  }

  /** What each task came to where it was last tried: a replay of single tasks has only these, and the others further back. */
  async #finishedTasks(origin: string): Promise<ReadonlyMap<string, TaskHistory>> {
    const finished = new Map<string, TaskHistory>()
    for (let id: string | null = origin; id !== null; ) {
      const history: OccurrenceHistory | null = await this.env.store.get({ id })
      for (const task of taskHistories(this.held.graph, history?.turns ?? [], history?.attempts ?? []))
        if (task.attempts.length > 0 && !finished.has(task.task)) finished.set(task.task, task)
      const replay = history?.record.replay
      id = replay?.tasks ? replay.origin : null
    }
    return finished
  }

  checkpoint(what: Omit<CheckpointItem, keyof MemberWrite>): Promise<WriteAnswer> {
    return this.#recorder.checkpoint({ ...this.memberWrite, ...what })
  }

  /** Records the end of an attempt in one commit with the handler's own writes. */
  commit(attempt: AttemptRecord, work: Required<Pick<CheckpointItem, 'within' | 'recorded'>>): Promise<WriteAnswer> {
    return this.#recorder.commit({ ...this.memberWrite, attempts: [attempt], ...work })
  }

  /** Records progress without making the handler wait; of what is reported meanwhile only the newest is written. */
  progress(run: TaskRun, done: number, message: string | null): void {
    const { events, time } = this.env
    events.emit('task.progress', { ...this.taskEvent(run), done, message })
    this.#nextProgress = { task: run.name, done, message, at: time.now() }
    this.#progressing ??= this.#writeProgress()
  }

  /** Resolves when the newest progress is written; null when none is on its way. */
  get progressing(): Promise<unknown> | null {
    return this.#progressing
  }

  event(): OccurrenceEvent {
    const { id, tenant, job, key, source } = this.record
    return { id, tenant, job, key, source, turn: this.member.turn }
  }

  taskEvent(run: TaskRun): TaskEvent {
    return { ...this.event(), task: run.name, attempt: run.attempts }
  }

  hookContext(): HookContext {
    const { id, tenant, job, key, entity, refs, source, scheduledAt } = this.record
    const { lastRunAt } = this.member
    return {
      payload: this.payload,
      tenant,
      job,
      key,
      entity,
      refs,
      source,
      occurrenceId: id,
      scheduledAt: new Date(scheduledAt),
      lastRunAt: lastRunAt === null ? null : new Date(lastRunAt),
      log: this.log,
    }
  }

  async #writeProgress(): Promise<void> {
    while (this.#nextProgress) {
      const progress = this.#nextProgress
      this.#nextProgress = null
      // Progress is worth no failure: what follows will meet the same trouble.
      await this.checkpoint({ attempts: [], progress }).catch((error: unknown) =>
        this.log.warn('Progress could not be recorded', { error: String(error) }),
      )
    }
    this.#progressing = null
  }
}
