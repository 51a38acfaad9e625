import { PunctualError } from '../errors.ts'

/** Settings of flags and of `PUNCTUAL_*`, in that order. */
interface Given {
  readonly store?: string
  readonly broker?: string
  readonly poll?: string
  readonly claimLimit?: number
}

export interface TimerSettings {
  readonly store: string
  readonly brokerUrl: string
  readonly poll: string | undefined
  readonly claimLimit: number | undefined
}

/** The settings of `punctual timers`. Where nothing is given, the `TIMER_*` names of the service's own document count, then the defaults. */
export function timerSettings(given: Given, env: Readonly<Record<string, string | undefined>>): TimerSettings {
  const pollMs = wholeNumber(env, 'TIMER_POLLING_INTERVAL')
  return {
    store: given.store ?? `sqlite:${env.TIMER_DB_PATH || './event_service.db'}`,
    brokerUrl: given.broker ?? (env.TIMER_BROKER_URL || 'nats://localhost:4222'),
    poll: given.poll ?? (pollMs === undefined ? undefined : `${pollMs}ms`),
    claimLimit: given.claimLimit ?? wholeNumber(env, 'TIMER_BATCH_SIZE'),
  }
}

function wholeNumber(env: Readonly<Record<string, string | undefined>>, name: string): number | undefined {
  const text = env[name]
  if (!text) return undefined
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new PunctualError('config.invalid', `${name} must be a whole number; got ${JSON.stringify(text)}`, { field: name })
}
