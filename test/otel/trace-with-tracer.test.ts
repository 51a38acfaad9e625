import { AsyncLocalStorage } from 'node:async_hooks'
import { type Context, type ContextManager, context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { createPunctual, defineJob, interval } from 'punctual'
import { memory } from 'punctual/memory'
import { traceWithTracer } from 'punctual/otel'
import { sqlite } from 'punctual/sqlite'
import { manualClock } from 'punctual/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The context manager of Node.js, as an application installs it. */
class LocalContexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>()
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT
  with = ((given: Context, work: (...args: any[]) => any, that?: unknown, ...args: any[]) =>
    this.#storage.run(given, () => work.call(that, ...args))) as ContextManager['with']
  bind = <Target>(_: Context, target: Target) => target
  enable = () => this
  disable = () => this
}

beforeAll(() => void context.setGlobalContextManager(new LocalContexts()))
afterAll(() => context.disable())

function tracing() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const tracer = provider.getTracer('test')
  const named = (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name)
  const one = (name: string) => {
    expect(named(name), `${name} among ${exporter.getFinishedSpans().map((span) => span.name)}`).toHaveLength(1)
    return named(name)[0] as ReadableSpan
  }
  return { tracer, named, one }
}

describe('JB-18 traces', () => {
  test('the context of an enqueue goes through the store; the delayed run is a trace of its own, linked to it', async () => {
    const { tracer, named, one } = tracing()
    const clock = manualClock()
    const store = memory()
    let inHandler = ''
    const mail = defineJob('mail', { retry: { max: 1, interval: '1s', jitter: 0 } }, ({ attempt }) => {
      inHandler = trace.getActiveSpan()?.spanContext().spanId ?? ''
      if (attempt === 1) throw new Error('no answer')
    })
    // One process enqueues, another runs it.
    await using web = createPunctual({ store, clock, log: silent })
    const endWeb = traceWithTracer(web, { tracer })
    const request = tracer.startSpan('GET /')
    const { id } = await context.with(trace.setSpan(ROOT_CONTEXT, request), () => web.enqueue('mail', undefined, { delay: '1d' }))
    request.end()
    const enqueue = one('enqueue mail')
    expect(enqueue.parentSpanContext?.spanId).toBe(request.spanContext().spanId)
    expect((await web.get(id))?.refs.traceparent).toContain(enqueue.spanContext().spanId)

    await using worker = createPunctual({ store, jobs: [mail], clock, log: silent })
    const endWorker = traceWithTracer(worker, { tracer })
    await worker.start()
    await clock.advance('25h')
    expect((await worker.get(id))?.state).toBe('completed')
    // A retry is a separate turn, which may come hours later on another node.
    const turns = named('occurrence mail')
    expect(turns.map((span) => span.attributes['punctual.state'])).toEqual(['retrying', 'completed'])
    expect(new Set([enqueue, ...turns].map((span) => span.spanContext().traceId)).size).toBe(3)
    for (const turn of turns) {
      expect(turn.parentSpanContext).toBeUndefined()
      expect(turn.links.map((link) => link.context.spanId)).toEqual([enqueue.spanContext().spanId])
      expect(turn.attributes['punctual.occurrence']).toBe(id)
    }
    const tasks = named(`task ${(await worker.get(id))?.tasks[0]?.name}`)
    expect(tasks.map((span) => span.parentSpanContext?.spanId)).toEqual(turns.map((span) => span.spanContext().spanId))
    const [first, second] = [one('attempt 1'), one('attempt 2')]
    expect([first, second].map((span) => span.parentSpanContext?.spanId)).toEqual(tasks.map((span) => span.spanContext().spanId))
    expect(first.status.message).toBe('no answer')
    expect(inHandler).toBe(second.spanContext().spanId)
    endWorker()
    endWeb()
  })

  test('work that a transaction of a handler creates has a span within its attempt, which ends with the commit', async () => {
    const { tracer, one } = tracing()
    const clock = manualClock()
    const child = defineJob('child', {}, () => 1)
    const parent = defineJob('parent', {}, async (ctx) => {
      await ctx.transaction(() => void ctx.enqueue(child, undefined, { delay: '1d' }))
    })
    await using punctual = createPunctual({ store: sqlite(':memory:'), jobs: [parent, child], clock, log: silent })
    const end = traceWithTracer(punctual, { tracer })
    await punctual.start()
    await punctual.enqueue(parent)
    await clock.advance('1s')
    const { parentSpanContext } = one('enqueue child')
    expect(parentSpanContext?.spanId).toBe(one('attempt 1').spanContext().spanId)
    end()
  })

  test('plans and claims have spans, and nothing is traced after the end', async () => {
    const { tracer, named } = tracing()
    const clock = manualClock()
    const tick = defineJob('tick', { schedule: interval('PT1M') }, () => 1)
    await using punctual = createPunctual({ store: memory(), jobs: [tick], clock, log: silent })
    const end = traceWithTracer(punctual, { tracer })
    await punctual.start()
    await clock.advance('3m')
    expect(named('plan').length).toBeGreaterThan(0)
    expect(named('plan')[0]?.attributes['punctual.job']).toBe('tick')
    expect(named('claim').length).toBeGreaterThan(0)
    expect(named('occurrence tick')[0]?.links).toEqual([])
    end()
    const before = named('occurrence tick').length
    await clock.advance('3m')
    expect(named('occurrence tick')).toHaveLength(before)
    expect((await punctual.enqueue(tick)).id).toBeDefined()
  })
})
