import type { Logger } from '../model/context.ts'
import { errorRecord } from '../model/error-record.ts'
import type { Clock } from '../time/clock.ts'

export interface HookRun {
  readonly name: 'onStart' | 'onComplete'
  /** How long it is waited for. */
  readonly timeoutMs: number
  readonly log: Logger
}

/** Runs a hook to its end, or until it has taken as long as a task may. Whatever it does, it changes nothing. */
export async function runHook(clock: Clock, { name, timeoutMs, log }: HookRun, hook: () => unknown): Promise<void> {
  let cancel: () => void = () => {}
  const overdue = new Promise<'overdue'>((resolve) => {
    cancel = clock.timer(timeoutMs, () => resolve('overdue'))
  })
  try {
    if ((await Promise.race([clock.run ? clock.run(name, hook) : hook(), overdue])) === 'overdue')
      log.error(`${name} took longer than ${timeoutMs} ms and is not waited for`)
  } catch (error) {
    log.error(`${name} threw`, { error: errorRecord(error) })
  } finally {
    cancel()
  }
}
