import type { Logger } from '../../model/context.ts'
import { errorRecord } from '../../model/error-record.ts'
import type { Clock } from '../../time/clock.ts'
import type { Turn } from './turn.ts'

type HookName = 'onStart' | 'onComplete'

interface HookRun {
  readonly name: HookName
  /** How long it is waited for. */
  readonly timeoutMs: number
  readonly log: Logger
  /** Ends the wait. */
  readonly until?: AbortSignal
}

/** Runs a hook of a turn, until that has lost its right to run. */
export function runTurnHook(turn: Turn, name: HookName, hook: () => unknown): Promise<'done' | 'lost'> {
  const { env, settings, log } = turn
  const stop = new AbortController()
  turn.cancelHook = () => stop.abort()
  return runHook(env.clock, { name, timeoutMs: settings.timeoutMs, log, until: stop.signal }, hook)
}

/** Runs a hook to its end, or until it has taken as long as a task may. Its outcome changes nothing. */
export async function runHook(
  clock: Clock,
  { name, timeoutMs, log, until }: HookRun,
  hook: () => unknown,
): Promise<'done' | 'lost'> {
  const { promise: over, resolve } = Promise.withResolvers<typeof overdue | typeof lost>()
  const cancel = clock.timer(timeoutMs, () => resolve(overdue))
  until?.addEventListener('abort', () => resolve(lost))
  try {
    const outcome = await Promise.race([clock.run ? clock.run(name, hook) : hook(), over])
    if (outcome === overdue) log.error(`${name} took longer than ${timeoutMs} ms and is not waited for`)
    return outcome === lost ? 'lost' : 'done'
  } catch (error) {
    log.error(`${name} threw`, { error: errorRecord(error) })
    return 'done'
  } finally {
    cancel()
  }
}

const overdue = Symbol('overdue')
const lost = Symbol('lost')
