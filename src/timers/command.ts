// Commands as they arrive: bare, in the envelope, or as a CloudEvent. A message that cannot become a command is poison.
import { shown } from '../errors.ts'
import { checkKey, checkName, checkObject, checkWhole } from '../model/limits.ts'
import { parseInstant } from '../time/instant.ts'

/** Sets a timer, or moves it while it has not been reached. */
export interface ScheduleTimer {
  readonly type: 'ScheduleTimer'
  readonly tenantId: string
  readonly serviceCallId: string
  readonly dueAt: Date
  readonly correlationId: string | null
  readonly version: number | null
}

/** Cancels a timer that has not been reached. */
export interface CancelTimer {
  readonly type: 'CancelTimer'
  readonly tenantId: string
  readonly serviceCallId: string
  readonly version: number | null
}

export type TimerCommand = ScheduleTimer | CancelTimer

/** The fields of a message, without its wrapping. */
export interface Unwrapped {
  readonly type: string
  readonly fields: Readonly<Record<string, unknown>>
}

/** A message that no waiting will make valid. */
export class Poison extends Error {
  override readonly name = 'Poison'
}

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Takes a message out of its wrapping. Throws `Poison`. */
export function unwrap(body: Uint8Array, headers: Readonly<Record<string, string>>, otherwise: string): Unwrapped {
  const message = parsed(body)
  const { specversion, data, payload, type = headers.type ?? otherwise } = message
  if (typeof type !== 'string') throw new Poison(`type must be text; got ${shown(type)}`)
  // The type of a CloudEvent has a prefix, such as com.example.ScheduleTimer.
  if (specversion !== undefined) return { type: type.split('.').at(-1) as string, fields: inner(message, data, 'data') }
  const isWrapped = payload !== undefined && message.type !== undefined && message.job === undefined
  return { type, fields: isWrapped ? inner(message, payload, 'payload') : message }
}

/** Reads a command about a timer. Throws `Poison`. */
export function timerCommand({ type, fields }: Unwrapped): TimerCommand {
  if (type !== 'ScheduleTimer' && type !== 'CancelTimer')
    throw new Poison(`type must be ScheduleTimer or CancelTimer; got ${shown(type)}`)
  return orPoison(() => {
    const common = {
      tenantId: checkName(fields.tenantId, 'tenantId'),
      serviceCallId: checkKey(fields.serviceCallId, 'serviceCallId'),
      version: fields.version == null ? null : checkWhole(fields.version, 'version', 0, Number.MAX_SAFE_INTEGER),
    }
    if (type === 'CancelTimer') return { type, ...common }
    const dueAt = new Date(parseInstant(fields.dueAt as string, 'dueAt'))
    return { type, ...common, dueAt, correlationId: correlationOf(fields) }
  })
}

function correlationOf({ correlationId }: Readonly<Record<string, unknown>>): string | null {
  return correlationId == null ? null : checkKey(correlationId, 'correlationId')
}

/** Turns every throw of a check into `Poison`. */
function orPoison<Value>(check: () => Value): Value {
  try {
    return check()
  } catch (error) {
    throw new Poison((error as Error).message)
  }
}

function parsed(body: Uint8Array): Record<string, unknown> {
  return orPoison(() => {
    const message: unknown = JSON.parse(decoder.decode(body))
    checkObject(message, 'the message')
    return message as Record<string, unknown>
  })
}

/** The wrapped fields. Fields that the wrapping has too must not differ: a message belongs to one tenant. */
function inner(wrapping: Record<string, unknown>, wrapped: unknown, field: string): Record<string, unknown> {
  orPoison(() => checkObject(wrapped, field))
  const fields = wrapped as Record<string, unknown>
  const tenantId = wrapping.tenantId ?? wrapping.tenantid
  const correlationId = wrapping.correlationId ?? wrapping.correlationid
  if (tenantId != null && fields.tenantId != null && tenantId !== fields.tenantId)
    throw new Poison(`tenantId is ${shown(tenantId)} outside and ${shown(fields.tenantId)} inside of ${field}`)
  return { ...(tenantId != null && { tenantId }), ...(correlationId != null && { correlationId }), ...fields }
}
