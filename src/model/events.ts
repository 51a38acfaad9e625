import type { Source } from './lifecycle.ts'
import type { ErrorRecord, ExecutionReport } from './report.ts'

/** The fields of every event about an occurrence. */
export interface OccurrenceEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  /** The `key` or `idempotencyKey` that it was created under. */
  readonly key: string | null
  readonly source: Source
  readonly turn: number
}

export interface FailedEvent extends OccurrenceEvent {
  /** Where the occurrence stands. */
  readonly state: 'failed' | 'dead'
  readonly report: ExecutionReport
  readonly error: ErrorRecord | null
}

export interface PassedEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: 'missed' | 'skipped' | 'canceled'
  readonly reason: string
}

/** An event about a task. */
export interface TaskEvent extends OccurrenceEvent {
  readonly task: string
  readonly attempt: number
}

/** An event about the key of an effect. */
export interface GateEvent {
  readonly tenant: string
  readonly scope: string
  readonly key: string
  /** The occurrence that reserved it; null outside of jobs. */
  readonly occurrence: string | null
  readonly reason: string | null
}

/** The health of a node, with the reasons where it is degraded. */
export type Health = { readonly state: 'ok' | 'degraded' | 'stopped'; readonly reasons: readonly string[] }

/** All events, by name. An event is a hint about what this process saw; the store is the truth. */
export interface Events {
  /** Work was created by this process. Work of a schedule is counted in `job.planned`. */
  'occurrence.created': Omit<OccurrenceEvent, 'turn'>
  /** A turn begins on this node. `latenessMs`: how long after it was due. */
  'occurrence.started': OccurrenceEvent & { readonly latenessMs: number }
  /** All tasks have succeeded, and the end is written. */
  'occurrence.completed': OccurrenceEvent & { readonly report: ExecutionReport }
  /** A final failure: of `dead` work a person can `retry` or `discard` it. */
  'occurrence.failed': FailedEvent
  /** A task has failed and is tried again, `dueInMs` from now. */
  'occurrence.retrying': OccurrenceEvent & { readonly dueInMs: number; readonly error: ErrorRecord | null }
  /** An instant was passed over: skipped by overlap or pause, or missed. */
  'occurrence.passed': PassedEvent
  /** Work was canceled: before it ran, or its handler has ended after the signal. */
  'occurrence.canceled': OccurrenceEvent & { readonly reason: string | null }
  /** Back in the queue without having been tried: shutdown, or a handler this node lacks. */
  'occurrence.released': OccurrenceEvent
  /** A write was refused since the occurrence is no longer this node's. */
  'occurrence.lost': OccurrenceEvent
  /** An attempt of a task begins. */
  'task.started': TaskEvent
  /** An attempt has succeeded. */
  'task.succeeded': TaskEvent & { readonly durationMs: number }
  /** An attempt has failed. `retryInMs`: the wait before the next one; null when there is none. */
  'task.failed': TaskEvent & { readonly error: ErrorRecord; readonly retryInMs: number | null }
  /** A handler has called `ctx.progress`. */
  'task.progress': TaskEvent & { readonly done: number; readonly message: string | null }
  /** Instants of a schedule were written as pending work, through this instant (epoch ms). */
  'job.planned': { readonly tenant: string; readonly job: string; readonly count: number; readonly through: number }
  /** A job has a new version, declared by code or made by a person. */
  'job.updated': { readonly tenant: string; readonly job: string; readonly version: number; readonly by: string | null }
  /** This process has paused a job, a tenant (`job` is null) or everything (both are null). */
  'job.paused': { readonly tenant: string | null; readonly job: string | null; readonly reason: string | null }
  /** This process has ended such a pause. */
  'job.resumed': { readonly tenant: string | null; readonly job: string | null }
  /** It is unknown whether an effect of `once` happened: `check` or a person has to resolve it. */
  'gate.unknown': GateEvent
  /** A node has sent no heartbeat for its timeout; its work was taken back. */
  'node.gone': { readonly node: string; readonly rescued: number; readonly dead: number }
  /** This node has given up its work, since it may be lost, and comes back under a new id. */
  'node.fenced': { readonly node: string; readonly reason: string }
  /** This node takes no new work, on a person's request. When `idle()` resolves, it has ended its work and can be closed. */
  'node.draining': { readonly node: string }
  /** A job that this node knows has a task without a handler; or its work is due and no node can run it (`task` is null). */
  'handler.missing': { readonly job: string; readonly task: string | null; readonly message: string }
  /** The health of this node has changed. */
  'health.changed': Health
  /** A loop of this node has failed and tries again. */
  'loop.error': { readonly loop: string; readonly error: Error; readonly retryInMs: number }
}

/** The name of an event. */
export type EventName = keyof Events

/** Each event's name once, so the compiler finds a missing one. */
const named: Readonly<Record<EventName, true>> = {
  'occurrence.created': true,
  'occurrence.started': true,
  'occurrence.completed': true,
  'occurrence.failed': true,
  'occurrence.retrying': true,
  'occurrence.passed': true,
  'occurrence.canceled': true,
  'occurrence.released': true,
  'occurrence.lost': true,
  'task.started': true,
  'task.succeeded': true,
  'task.failed': true,
  'task.progress': true,
  'job.planned': true,
  'job.updated': true,
  'job.paused': true,
  'job.resumed': true,
  'gate.unknown': true,
  'node.gone': true,
  'node.fenced': true,
  'node.draining': true,
  'handler.missing': true,
  'health.changed': true,
  'loop.error': true,
}
export const eventNames = Object.keys(named) as readonly EventName[]

/** A function that gets the events of one name. */
export type Listener<Name extends EventName> = (event: Events[Name]) => void

/** A typed emitter whose listeners cannot hurt the emitting side. `All` may hold more than what users can listen to. */
export class Emitter<All extends object = Events> {
  readonly #listeners = new Map<PropertyKey, Set<(event: never) => void>>()
  readonly #watchers = new Map<PropertyKey, Set<(event: never) => void>>()
  readonly #onThrow: (error: unknown, event: string) => void

  constructor(onThrow: (error: unknown, event: string) => void) {
    this.#onThrow = onThrow
  }

  on<Name extends keyof All>(name: Name, listener: (event: All[Name]) => void): () => void {
    return added(this.#listeners, name, listener)
  }

  /** As `on`, for parts of the scheduler itself: they do not count as listeners of the user. */
  watch<Name extends keyof All>(name: Name, listener: (event: All[Name]) => void): () => void {
    return added(this.#watchers, name, listener)
  }

  /** Whether there is a listener. Hot paths build no events without one. */
  has(name: keyof All): boolean {
    return this.isHeard(name) || (this.#watchers.get(name)?.size ?? 0) > 0
  }

  /** Whether the user listens. */
  isHeard(name: keyof All): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  emit<Name extends keyof All>(name: Name, event: All[Name]): void {
    for (const listener of this.#watchers.get(name) ?? []) this.#call(listener, name, event)
    for (const listener of this.#listeners.get(name) ?? []) this.#call(listener, name, event)
  }

  #call(listener: (event: never) => void, name: keyof All, event: unknown): void {
    try {
      const returned: unknown = listener(event as never)
      if (returned instanceof Promise) returned.catch((error: unknown) => this.#onThrow(error, String(name)))
    } catch (error) {
      this.#onThrow(error, String(name))
    }
  }
}

function added<Name>(all: Map<Name, Set<(event: never) => void>>, name: Name, listener: (event: never) => void): () => void {
  const listeners = all.get(name) ?? new Set()
  all.set(name, listeners.add(listener))
  return () => listeners.delete(listener)
}
