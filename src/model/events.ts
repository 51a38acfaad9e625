import type { Source } from './lifecycle.ts'
import type { ErrorRecord, ExecutionReport } from './report.ts'

/** What every event about an occurrence carries. */
export interface OccurrenceEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly source: Source
  readonly turn: number
}

export interface PassedEvent {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly state: 'missed' | 'skipped' | 'canceled'
  readonly reason: string
}

export interface TaskEvent extends OccurrenceEvent {
  readonly task: string
  readonly attempt: number
}

export type Health = { readonly state: 'ok' | 'degraded' | 'stopped'; readonly reasons: readonly string[] }

/** All events, by name. An event is a hint about what this process saw; the store is the truth. */
export interface Events {
  'occurrence.started': OccurrenceEvent & { readonly latenessMs: number }
  'occurrence.completed': OccurrenceEvent & { readonly report: ExecutionReport }
  'occurrence.failed': OccurrenceEvent & { readonly report: ExecutionReport; readonly error: ErrorRecord | null }
  'occurrence.dead': OccurrenceEvent & { readonly report: ExecutionReport; readonly error: ErrorRecord | null }
  'occurrence.retrying': OccurrenceEvent & { readonly dueInMs: number; readonly error: ErrorRecord | null }
  /** An instant was passed over: skipped by overlap or pause, or missed. */
  'occurrence.passed': PassedEvent
  'occurrence.canceled': OccurrenceEvent & { readonly reason: string | null }
  /** Back in the queue without having been tried: shutdown, or a handler this node lacks. */
  'occurrence.released': OccurrenceEvent
  /** A write was refused since the occurrence is no longer this node's. */
  'occurrence.lost': OccurrenceEvent
  'task.started': TaskEvent
  'task.succeeded': TaskEvent & { readonly durationMs: number }
  'task.failed': TaskEvent & { readonly error: ErrorRecord; readonly retryInMs: number | null }
  'task.progress': TaskEvent & { readonly done: number; readonly message: string | null }
  'job.planned': { readonly tenant: string; readonly job: string; readonly count: number; readonly through: number }
  'job.paused': { readonly tenant: string | null; readonly job: string | null; readonly reason: string | null }
  'node.gone': { readonly node: string; readonly rescued: number; readonly dead: number }
  'node.fenced': { readonly node: string; readonly reason: string }
  'handler.missing': { readonly job: string; readonly task: string | null; readonly message: string }
  'health.changed': Health
  'loop.error': { readonly loop: string; readonly error: Error; readonly retryInMs: number }
}

export type EventName = keyof Events

/** Each event's name once, so that none can be forgotten. */
const named: Readonly<Record<EventName, true>> = {
  'occurrence.started': true,
  'occurrence.completed': true,
  'occurrence.failed': true,
  'occurrence.dead': true,
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
  'job.paused': true,
  'node.gone': true,
  'node.fenced': true,
  'handler.missing': true,
  'health.changed': true,
  'loop.error': true,
}
export const eventNames = Object.keys(named) as readonly EventName[]

export type Listener<Name extends EventName> = (event: Events[Name]) => void

/** A typed emitter whose listeners cannot hurt the emitting side. */
export class Emitter {
  readonly #listeners = new Map<EventName, Set<Listener<EventName>>>()
  readonly #onThrow: (error: unknown, event: EventName) => void

  constructor(onThrow: (error: unknown, event: EventName) => void) {
    this.#onThrow = onThrow
  }

  on<Name extends EventName>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener as Listener<EventName>)
    return () => listeners.delete(listener as Listener<EventName>)
  }

  /** Whether anybody listens, so that hot paths need not build events for nobody. */
  has(name: EventName): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0
  }

  emit<Name extends EventName>(name: Name, event: Events[Name]): void {
    for (const listener of this.#listeners.get(name) ?? []) {
      try {
        listener(event)
      } catch (error) {
        this.#onThrow(error, name)
      }
    }
  }
}
