import { isoText } from '../time/instant.ts'

/** How events are wrapped: `plain` has id, type, tenantId, correlationId, timestampMs and payload; `cloudevents` is CloudEvents 1.0. */
export type EnvelopeFormat = 'plain' | 'cloudevents'

export interface TimerEvent {
  readonly id: string
  readonly tenantId: string
  readonly serviceCallId: string
  readonly correlationId: string | null
  readonly dueAt: number
  readonly reachedAt: number
}

/** The body and the headers of `DueTimeReached`. */
export function dueTimeReached(
  format: EnvelopeFormat,
  event: TimerEvent,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } {
  const wrap = format === 'plain' ? plain : cloudEvent
  return wrap(event)
}

function payloadOf({ tenantId, serviceCallId, reachedAt }: TimerEvent): object {
  return { tenantId, serviceCallId, reachedAt: isoText(reachedAt) }
}

function plain(event: TimerEvent) {
  const { id, tenantId, correlationId, reachedAt } = event
  const envelope = {
    id,
    type: 'DueTimeReached',
    tenantId,
    ...(correlationId !== null && { correlationId }),
    timestampMs: reachedAt,
    payload: payloadOf(event),
  }
  return { headers: { 'content-type': 'application/json', type: 'DueTimeReached' }, body: JSON.stringify(envelope) }
}

function cloudEvent(event: TimerEvent) {
  const { id, tenantId, serviceCallId, correlationId, dueAt } = event
  const envelope = {
    specversion: '1.0',
    id,
    source: '/punctual/timers',
    type: 'punctual.timer.DueTimeReached',
    subject: serviceCallId,
    time: isoText(dueAt),
    datacontenttype: 'application/json',
    tenantid: tenantId,
    ...(correlationId !== null && { correlationid: correlationId }),
    data: payloadOf(event),
  }
  return { headers: { 'content-type': 'application/cloudevents+json', type: 'DueTimeReached' }, body: JSON.stringify(envelope) }
}
