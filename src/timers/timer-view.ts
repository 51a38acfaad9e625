// Answers to "when will this run?".
import type { Punctual } from '../client/punctual.ts'
import { timerJob } from '../client/timers-overview.ts'
import { PunctualError } from '../errors.ts'
import { errorText } from '../model/error-record.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import { checkKey, checkName } from '../model/limits.ts'

/** A timer, as the store has it. */
export interface TimerView {
  readonly tenantId: string
  readonly serviceCallId: string
  readonly state: 'scheduled' | 'reached' | 'canceled' | 'failed'
  readonly dueAt: Date
  readonly registeredAt: Date
  readonly reachedAt: Date | null
  readonly correlationId: string | null
  readonly version: number | null
}

/** The payload of a timer. */
export interface TimerPayload {
  readonly registeredAt: number
  readonly correlationId?: string
}

/** A timer; null when there is none, or its record was removed by retention. */
export async function timerView(punctual: Punctual, tenantId: string, serviceCallId: string): Promise<TimerView | null> {
  const target = {
    tenant: checkName(tenantId, 'tenantId'),
    job: timerJob,
    idempotencyKey: checkKey(serviceCallId, 'serviceCallId'),
  }
  const found = await punctual.get(target)
  if (!found) return null
  const { correlationId = null } = (found.payload ?? {}) as TimerPayload
  const state = viewStates[found.state]
  return {
    tenantId,
    serviceCallId,
    state,
    dueAt: found.dueAt,
    registeredAt: found.createdAt,
    reachedAt: state === 'reached' ? found.endedAt : null,
    correlationId,
    version: found.keyVersion,
  }
}

/** The answer to a request of a tenantId and a serviceCallId, as JSON. */
export async function answerWhen(punctual: Punctual, body: string): Promise<string> {
  try {
    const { tenantId, serviceCallId } = JSON.parse(body) as Record<string, string>
    return JSON.stringify(await timerView(punctual, tenantId as string, serviceCallId as string))
  } catch (error) {
    const code = error instanceof PunctualError ? error.code : 'option.invalid'
    return JSON.stringify({ error: { code, message: errorText(error) } })
  }
}

const viewStates: Readonly<Record<OccurrenceState, TimerView['state']>> = {
  pending: 'scheduled',
  waiting: 'scheduled',
  running: 'scheduled',
  retrying: 'scheduled',
  completed: 'reached',
  canceled: 'canceled',
  dead: 'failed',
  failed: 'failed',
  skipped: 'failed',
  missed: 'failed',
}
