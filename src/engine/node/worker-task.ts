// Runs the export `handler` of a module in a thread. See worker-pool.ts.
import type { MessagePort } from 'node:worker_threads'
import { PunctualError } from '../../errors.ts'
import type { Context, FailOptions, Handler, Logger, Refs } from '../../model/context.ts'
import { errorRecord } from '../../model/error-record.ts'
import { encodeResult } from '../../model/payload.ts'
import type { ErrorRecord } from '../../model/report.ts'
import type { RetryHint } from '../../model/retry.ts'
import { parseDuration } from '../../time/duration.ts'

/** The part of the context that can be sent. */
export type WorkerContext = Omit<
  Context,
  'signal' | 'log' | 'progress' | 'fail' | 'transaction' | 'enqueue' | 'cancel' | 'once' | 'audit'
>

export interface WorkerTask {
  readonly module: string
  readonly context: WorkerContext
  /** For the signal in one direction, progress and log lines in the other. */
  readonly port: MessagePort
}

export type WorkerNews =
  | { readonly kind: 'progress'; readonly done: number | string; readonly message: string | undefined }
  | { readonly kind: 'audit'; readonly event: string; readonly refs: Refs | undefined; readonly data: unknown }
  | { readonly kind: 'log'; readonly level: string; readonly message: string; readonly fields: object | undefined }

/** The result as JSON text, or the failure. */
export interface WorkerAnswer {
  readonly result: string | null
  readonly error: (ErrorRecord & RetryHint) | null
}

export async function runTask({ module, context, port }: WorkerTask): Promise<WorkerAnswer> {
  try {
    const { handler } = (await import(module)) as { handler?: Handler }
    if (typeof handler !== 'function')
      throw new PunctualError('option.invalid', `${module} must export a function named handler`, { field: 'module' })
    const value = await handler(contextOf(context, port))
    return { result: encodeResult(value), error: null }
  } catch (error) {
    const { retryable, retryInMs } = (error ?? {}) as RetryHint
    const hint = { ...(retryable !== undefined && { retryable }), ...(retryInMs !== undefined && { retryInMs }) }
    return { result: null, error: { ...errorRecord(error), ...hint } }
  } finally {
    port.close()
  }
}

function contextOf(context: WorkerContext, port: MessagePort): Context {
  const controller = new AbortController()
  port.on('message', (reason: { code: string; message: string }) =>
    controller.abort(Object.assign(new Error(reason.message), { name: 'Aborted', code: reason.code })),
  )
  port.unref()
  const send = (news: WorkerNews) => port.postMessage(news)
  const line = (level: keyof Logger) => (message: string, fields?: object) => send({ kind: 'log', level, message, fields })
  return {
    ...context,
    signal: controller.signal,
    log: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
    progress: (done, message) => send({ kind: 'progress', done, message }),
    fail: (message, options) => {
      throw failure(message, options)
    },
    audit: (event, refs, data) => send({ kind: 'audit', event, refs, data }),
    enqueue: () => inThread('enqueue'),
    cancel: () => inThread('cancel'),
    transaction: () => inThread('transaction'),
    once: () =>
      Promise.reject(new PunctualError('store.unsupported', 'ctx.once needs the store of the process: not in a thread', {})),
  }
}

function inThread(call: string): Promise<never> {
  const message = `ctx.${call} needs the connection of the process: not in a thread`
  return Promise.reject(new PunctualError('transaction.unsupported', message, {}))
}

function failure(message: string, { retryable, retryIn }: FailOptions = {}): Error & RetryHint {
  return Object.assign(new Error(message), {
    name: 'TaskFailure',
    ...(retryable !== undefined && { retryable }),
    ...(retryIn !== undefined && { retryInMs: parseDuration(retryIn, 'retryIn') }),
  })
}
