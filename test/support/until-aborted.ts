import type { Context } from '../../src/model/context.ts'

/** Behaves like a good handler: it goes on until its signal aborts, and throws the reason. Notes the reason's code. */
export function untilAborted({ signal }: Pick<Context, 'signal'>, codes: string[] = []): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => {
      codes.push(signal.reason.code)
      reject(signal.reason)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
}
