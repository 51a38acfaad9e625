import { availableParallelism } from 'node:os'
import { extname } from 'node:path'
import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { PunctualError } from '../../errors.ts'
import type { Context, Handler, Logger } from '../../model/context.ts'
import { errorText } from '../../model/error-record.ts'
import type { Env } from '../env.ts'
import type { TaskContext } from '../turn/context.ts'
import type { WorkerAnswer, WorkerContext, WorkerNews, WorkerTask } from './worker-task.ts'

/** Runs handlers in threads (`runIn: 'worker'`), with their signal, progress and log. A thread that does not stop is terminated. */
export class WorkerPool {
  readonly #env: Pick<Env, 'clock' | 'log' | 'options'>
  readonly #threads: number
  #pool: Promise<Piscina> | null = null
  #running = 0
  /** Calls that begin when a thread is free, in their order. */
  readonly #waiting = new Set<() => void>()

  constructor(env: Pick<Env, 'clock' | 'log' | 'options'>) {
    this.#env = env
    this.#threads = Math.min(env.options.concurrency, availableParallelism())
  }

  handler(module: string): Handler {
    return (ctx) => this.#inThread(module, ctx as TaskContext)
  }

  /** Terminates the threads, and what they still run. */
  async close(): Promise<void> {
    const pool = this.#pool
    this.#pool = null
    await (await pool?.catch(() => null))?.destroy()
  }

  /** The wait for a free thread does not count against the handler's timeout. */
  async #inThread(module: string, ctx: TaskContext): Promise<unknown> {
    if (this.#running < this.#threads) this.#running += 1
    else {
      const begin = ctx.holdTimeout()
      await this.#freeThread(ctx.signal)
      begin()
    }
    try {
      return await this.#run(module, ctx)
    } finally {
      this.#leave()
    }
  }

  /** Rejects when the handler's signal aborts before. */
  #freeThread(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = () => {
        this.#waiting.delete(begin)
        reject(signal.reason)
      }
      this.#waiting.add(begin)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    })
  }

  #leave(): void {
    const [next] = this.#waiting
    if (!next) this.#running -= 1
    else {
      this.#waiting.delete(next)
      next()
    }
  }

  async #run(module: string, ctx: Context): Promise<unknown> {
    this.#pool ??= newPool(this.#threads, (error) =>
      this.#env.log.warn('A thread broke down after its work was taken from it', { error: errorText(error) }),
    )
    const pool = await this.#pool
    const { port1: port, port2 } = new MessageChannel()
    const termination = new AbortController()
    const stopWatching = this.#watch(ctx.signal, port, termination)
    port.on('message', (news: WorkerNews) => pass(news, ctx))
    try {
      const task: WorkerTask = { module, context: plain(ctx), port: port2 }
      const answer = (await pool.run(task, {
        name: 'runTask',
        transferList: [port2],
        signal: termination.signal,
      })) as WorkerAnswer
      // The answer came another way, and may have overtaken the last news.
      for (let last = receiveMessageOnPort(port); last; last = receiveMessageOnPort(port)) pass(last.message, ctx)
      if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error)
      return answer.result === null ? undefined : JSON.parse(answer.result)
    } finally {
      stopWatching()
      port.close()
    }
  }

  /** Hands the signal on. A handler that goes on after it is terminated, unless the process stops anyway. */
  #watch(signal: AbortSignal, port: MessagePort, termination: AbortController): () => void {
    const { clock, options } = this.#env
    let cancelTimer = () => {}
    const abort = () => {
      const { code, message } = signal.reason as { code: string; message: string }
      port.postMessage({ code, message })
      if (code !== 'shutdown') cancelTimer = clock.timer(options.writeOffMs, () => termination.abort())
    }
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    return () => {
      cancelTimer()
      signal.removeEventListener('abort', abort)
    }
  }
}

/** A thread that is being terminated may break down first. Without a listener that error would end the process. */
async function newPool(maxThreads: number, onBreakdown: (error: unknown) => void): Promise<Piscina> {
  const { Piscina: Pool } = await import('piscina').catch((cause: unknown) => {
    throw new PunctualError('config.invalid', "runIn: 'worker' needs the package piscina; run npm install piscina", {}, { cause })
  })
  const pool = new Pool({
    filename: new URL(`worker-task${extname(import.meta.url)}`, import.meta.url).href,
    minThreads: 0,
    maxThreads,
    idleTimeout: 10_000,
  })
  pool.on('error', onBreakdown)
  return pool
}

function pass(news: WorkerNews, ctx: Context): void {
  try {
    if (news.kind === 'progress') ctx.progress(news.done, news.message)
    else if (news.kind === 'audit') ctx.audit(news.event, news.refs, news.data)
    else ctx.log[news.level as keyof Logger](news.message, news.fields)
  } catch (error) {
    ctx.log.warn('A report of a handler in a thread could not be recorded', { error: String(error) })
  }
}

function plain(ctx: Context): WorkerContext {
  const { payload, results, tenant, job, task, key, entity, refs, source, occurrenceId, parent, taskRunId, attemptId } = ctx
  const { idempotencyKey, attempt, scheduledAt, lateness, isRecovery, span, startedAt, lastRunAt, replayOf, version } = ctx
  const ids = {
    tenant,
    job,
    task,
    key,
    entity,
    refs,
    source,
    occurrenceId,
    parent,
    taskRunId,
    attemptId,
    idempotencyKey,
    attempt,
  }
  return { ...ids, payload, results, scheduledAt, lateness, isRecovery, span, startedAt, lastRunAt, replayOf, version }
}
