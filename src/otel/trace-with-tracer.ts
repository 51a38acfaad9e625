import {
  type Context,
  context,
  type Link,
  trace as otel,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from '@opentelemetry/api'
import type { ClientEnv } from '../client/client-env.ts'
import type { Punctual } from '../client/punctual.ts'
import { schedulerEnv } from '../client/scheduler-env.ts'
import { version } from '../engine/node/version.ts'
import type { TracedAttempt, TracePort } from '../engine/turn/trace-port.ts'
import type { Refs } from '../model/context.ts'
import type { OccurrenceEvent } from '../model/events.ts'
import { checkOptions, limits } from '../model/limits.ts'
import type { StoreExchange } from '../store/observed.ts'
import type { ClaimAnswer, JobPlan, NewOccurrence } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'

/** The options of `traceWithTracer`. */
export interface TracerOptions {
  /** Default: `punctual` of the global tracer provider. */
  tracer?: Tracer
}

/**
 * Makes spans of enqueues, plans, claims, occurrences, tasks and attempts. The W3C context of an enqueue is stored with the work
 * (`refs.traceparent`), and the run, which may come days later, is a separate trace with a link to it. The returned function ends it.
 * @example const end = traceWithTracer(punctual)
 */
export function traceWithTracer(punctual: Punctual, options: TracerOptions = {}): () => void {
  checkOptions(options, ['tracer'], 'traceWithTracer')
  const env = schedulerEnv(punctual)
  const traces = new Traces(options.tracer ?? otel.getTracer('punctual', version), env.clock)
  env.trace.port = traces
  const stops = watch(env, traces)
  return () => {
    env.trace.port = null
    for (const stop of stops) stop()
    traces.end()
  }
}

function watch({ events }: ClientEnv, traces: Traces): readonly (() => void)[] {
  const ended = (state: string) => (event: OccurrenceEvent) => traces.turnEnded(event, state)
  return [
    events.watch('signal.store', (call) => traces.called(call)),
    events.watch('occurrence.completed', ended('completed')),
    events.watch('occurrence.failed', (event) => traces.turnEnded(event, event.state)),
    events.watch('occurrence.retrying', ended('retrying')),
    events.watch('occurrence.canceled', ended('canceled')),
    events.watch('occurrence.released', ended('released')),
    events.watch('occurrence.lost', ended('lost')),
  ]
}

/** The spans of one turn of an occurrence. */
interface TurnSpans {
  readonly span: Span
  readonly tasks: Map<string, Span>
}

/** Spans of work that was prepared and never stored, as when a transaction of the caller was rolled back. */
const mostPrepared = 1000

class Traces implements TracePort {
  readonly #tracer: Tracer
  readonly #clock: Clock
  /** Enqueues whose row is on its way to the store, by the context they carry. */
  readonly #prepared = new Map<string, Span>()
  readonly #turns = new Map<string, TurnSpans>()

  constructor(tracer: Tracer, clock: Clock) {
    this.#tracer = tracer
    this.#clock = clock
  }

  carry(job: string): Refs {
    const span = this.#tracer.startSpan(`enqueue ${job}`, { kind: SpanKind.PRODUCER, attributes: { 'punctual.job': job } })
    const carrier: Record<string, string> = {}
    propagation.inject(otel.setSpan(context.active(), span), carrier)
    const { traceparent = traceparentOf(span), tracestate } = carrier
    if (this.#prepared.size >= mostPrepared) this.#endPrepared()
    this.#prepared.set(traceparent, span)
    return { traceparent, ...(tracestate && tracestate.length <= limits.key && { tracestate }) }
  }

  async run<Value>(attempt: TracedAttempt, work: () => Promise<Value>): Promise<Value> {
    const { task, n } = attempt
    const turn = this.#turnOf(attempt)
    const parent =
      turn.tasks.get(task) ?? this.#tracer.startSpan(`task ${task}`, { attributes: { 'punctual.task': task } }, within(turn.span))
    turn.tasks.set(task, parent)
    const span = this.#tracer.startSpan(
      `attempt ${n}`,
      { attributes: { 'punctual.task': task, 'punctual.attempt': n } },
      within(parent),
    )
    try {
      return await context.with(otel.setSpan(context.active(), span), work)
    } catch (error) {
      failed(span, error)
      throw error
    } finally {
      span.end()
    }
  }

  /** A run is no child of its enqueue: it may come days later. */
  #turnOf({ record, turn }: TracedAttempt): TurnSpans {
    const key = turnKey(record.id, turn)
    const known = this.#turns.get(key)
    if (known) return known
    const { job, tenant, source, id } = record
    const span = this.#tracer.startSpan(
      `occurrence ${job}`,
      {
        kind: SpanKind.CONSUMER,
        links: linksOf(record.refs),
        root: true,
        attributes: {
          ...{ 'punctual.job': job, 'punctual.tenant': tenant, 'punctual.occurrence': id, 'punctual.source': source },
          ...{ 'punctual.turn': turn, 'punctual.due': new Date(record.scheduledAt).toISOString() },
        },
      },
      ROOT_CONTEXT,
    )
    const spans = { span, tasks: new Map<string, Span>() }
    this.#turns.set(key, spans)
    return spans
  }

  turnEnded({ id, turn }: OccurrenceEvent, state: string): void {
    const key = turnKey(id, turn)
    const spans = this.#turns.get(key)
    if (!spans) return
    this.#turns.delete(key)
    for (const span of spans.tasks.values()) span.end()
    spans.span.setAttribute('punctual.state', state)
    if (state === 'failed' || state === 'dead') spans.span.setStatus({ code: SpanStatusCode.ERROR, message: state })
    spans.span.end()
  }

  called({ verb, durationMs, error, given: [first], answer }: StoreExchange): void {
    if (verb === 'create') this.stored(first as readonly NewOccurrence[], error)
    else if (verb === 'plan')
      for (const { job, rows } of first as readonly JobPlan[])
        if (rows.length > 0) this.#past('plan', durationMs, error, { 'punctual.job': job, 'punctual.count': rows.length })
    // Writes bring new claims back with their answers.
    const claimed = (verb === 'claim' ? answer : (answer as { claimed?: unknown } | undefined)?.claimed) as
      | ClaimAnswer
      | undefined
    const count = claimed?.members.length ?? 0
    if (count > 0 || (verb === 'claim' && error !== null)) this.#past('claim', durationMs, error, { 'punctual.count': count })
  }

  stored(rows: readonly { readonly refs: Refs }[], error: unknown): void {
    for (const { traceparent } of rows.map(({ refs }) => refs)) {
      const span = traceparent === undefined ? undefined : this.#prepared.get(traceparent)
      if (traceparent === undefined || !span) continue
      this.#prepared.delete(traceparent)
      if (error !== null) failed(span, error)
      span.end()
    }
  }

  /** A span of something that is over. */
  #past(name: string, durationMs: number, error: unknown, attributes: Record<string, string | number>): void {
    const end = this.#clock.wall()
    const span = this.#tracer.startSpan(name, { startTime: end - durationMs, attributes, root: true })
    if (error !== null) failed(span, error)
    span.end(end)
  }

  #endPrepared(): void {
    for (const span of this.#prepared.values()) span.end()
    this.#prepared.clear()
  }

  end(): void {
    this.#endPrepared()
    for (const { span, tasks } of this.#turns.values()) for (const one of [...tasks.values(), span]) one.end()
    this.#turns.clear()
  }
}

function turnKey(id: string, turn: number): string {
  return `${id} ${turn}`
}

function within(span: Span): Context {
  return otel.setSpan(ROOT_CONTEXT, span)
}

/** The W3C text, where no propagator of the process writes it. */
function traceparentOf(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
}

function linksOf({ traceparent }: Refs): Link[] {
  const [, traceId, spanId, flags] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return []
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }]
}

function failed(span: Span, error: unknown): void {
  const { message = String(error) } = (error ?? {}) as { message?: string }
  span.setStatus({ code: SpanStatusCode.ERROR, message })
}
