// Events of jobs that publish them, as occurrences of `punctual/publish`. They are written in the commit of what they report.
import { eventId } from '../../model/ids.ts'
import { stateAfter } from '../../model/lifecycle.ts'
import type { OccurrenceRecord, TurnRecord } from '../../model/occurrence.ts'
import type { PauseRecord } from '../../model/pause.ts'
import { type Outlet, type PublishedEvent, publishJob } from '../../model/publish.ts'
import type { Passed } from '../../model/recovery.ts'
import { isoText } from '../../time/instant.ts'

/** The end of an occurrence; null where its job does not publish it. */
export function endMessage(record: OccurrenceRecord, end: TurnRecord, now: number): OccurrenceRecord | null {
  const { publish, tenant, job, id, key, source, scheduledAt } = record
  const state = stateAfter[end.end]
  if (publish === undefined) return null
  const body = {
    job,
    occurrenceId: id,
    key,
    source,
    turn: end.turn,
    state,
    reason: end.reason,
    scheduledAt: isoText(scheduledAt),
    startedAt: end.startedAt === null ? null : isoText(end.startedAt),
    endedAt: isoText(end.endedAt),
  }
  const type = `occurrence.${state === 'dead' ? 'failed' : state}` as PublishedEvent
  return message(publish, { type, tenant, body, about: [id, end.turn] }, now)
}

interface JobName {
  readonly tenant: string
  readonly name: string
}

/** Instants that were passed over, many at a time. */
export function rangeMessage(
  publish: string | undefined,
  { tenant, name }: JobName,
  { state, reason, from, to, count }: Passed,
  now: number,
): OccurrenceRecord | null {
  if (publish === undefined) return null
  const body = { job: name, state, reason, from: isoText(from), to: isoText(to), count }
  return message(publish, { type: `occurrence.${state}`, tenant, body, about: [name, from, to] }, now)
}

/** The beginning, a change or the end of a job's pause. */
export function pauseMessage(
  publish: string | undefined,
  outcome: 'paused' | 'resumed',
  { id, tenant, job, from, to, reason, by }: PauseRecord,
  now: number,
): OccurrenceRecord | null {
  if (publish === undefined || tenant === null || job === null) return null
  const body = { job, reason, by, from: isoText(from), until: to === null ? null : isoText(to) }
  return message(publish, { type: `job.${outcome}`, tenant, body, about: [job, id, now] }, now)
}

interface Event {
  readonly type: PublishedEvent
  readonly tenant: string
  readonly body: object
  readonly about: readonly (string | number)[]
}

function message(publish: string, { type, tenant, body, about }: Event, now: number): OccurrenceRecord | null {
  const { channel, kind, on } = JSON.parse(publish) as Outlet
  if (on && !on.includes(type)) return null
  const payload = { channel, kind, headers: { type }, body: { type, tenantId: tenant, ...body } }
  return {
    ...messageForm,
    id: eventId(tenant, type, about),
    tenant,
    job: publishJob,
    definition: publishJob,
    key: null,
    entity: null,
    parent: null,
    refs: {},
    payload: JSON.stringify(payload),
    settings: null,
    span: null,
    replay: null,
    scheduledAt: now,
    createdAt: now,
  }
}

/** The fields that all messages share. */
export const messageForm = {
  kind: publishJob,
  version: 0,
  source: 'deferred',
  unique: 'ever',
  isHooked: false,
  priority: 5,
  startWithinMs: null,
  limits: null,
} as const
