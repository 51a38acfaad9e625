import type { Refs } from '../../model/context.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'

/** One call of a handler, as a trace names it. */
export interface TracedAttempt {
  readonly record: OccurrenceRecord
  readonly turn: number
  readonly task: string
  /** 1 for the first try of the task. */
  readonly n: number
}

/** The place of a tracer: it gives new work a context to carry through the store, and runs handlers within their spans. */
export interface TracePort {
  /** Refs that are stored with new work of a job. */
  carry(job: string): Refs
  /** The work that carries these contexts is in the store, or the store has refused it. */
  stored(rows: readonly { readonly refs: Refs }[], error: unknown): void
  run<Value>(attempt: TracedAttempt, work: () => Promise<Value>): Promise<Value>
}
