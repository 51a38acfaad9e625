import { errorRecord } from '../model/error-record.ts'
import type { Env } from './env.ts'
import type { Execution } from './execution.ts'

/** Runs a hook to its end, or until it has taken as long as a task may. Whatever it does, it changes nothing. */
export async function runHook(env: Env, execution: Execution, name: 'onStart' | 'onComplete', hook: () => unknown): Promise<void> {
  const { timeoutMs } = execution.settings
  let cancel: () => void = () => {}
  const overdue = new Promise<'overdue'>((resolve) => {
    cancel = env.clock.timer(timeoutMs, () => resolve('overdue'))
  })
  try {
    if ((await Promise.race([hook(), overdue])) === 'overdue') execution.log.error(`${name} took longer than ${timeoutMs} ms and is not waited for`)
  } catch (error) {
    execution.log.error(`${name} threw`, { error: errorRecord(error) })
  } finally {
    cancel()
  }
}
