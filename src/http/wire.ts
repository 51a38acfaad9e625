// Types of the requests and responses. The schemas they come from are in client/operation/; no internal record is sent as it is.
import type { z } from 'zod'
import type * as job from '../client/operation/job.ts'
import type * as occurrence from '../client/operation/occurrence.ts'
import type * as overview from '../client/operation/overview.ts'
import type * as request from '../client/operation/request.ts'
import type * as server from '../client/operation/server.ts'
import type { OperationName, operations } from '../client/operation.ts'

type Table = typeof operations
type InputPart<Name extends OperationName, Field extends string> = Table[Name] extends {
  readonly [F in Field]: infer Schema extends z.ZodType
}
  ? z.input<Schema>
  : undefined

/** The input of an operation, by part of the request. */
export interface WireInput<Name extends OperationName> {
  params: InputPart<Name, 'params'>
  query: InputPart<Name, 'query'>
  headers: InputPart<Name, 'headers'>
  body: InputPart<Name, 'body'>
}

/** The output of an operation. */
export type WireOutput<Name extends OperationName> = z.output<Table[Name]['output']>

export type { OperationName } from '../client/operation.ts'

export type WireJobMark = z.output<typeof job.jobMark>
export type WireRecentRun = z.output<typeof job.recentRun>
export type WireSchedule = z.output<typeof job.scheduleFacts>
export type WireJobLine = z.output<typeof job.jobLine>
export type WireJob = z.output<typeof job.job>
export type WireVersion = z.output<typeof job.version>
export type WireSchedulePreview = z.output<typeof job.schedulePreview>
export type WireOccurrenceLine = z.output<typeof occurrence.occurrenceLine>
export type WireOccurrence = z.output<typeof occurrence.occurrence>
export type WireTaskRun = z.output<typeof occurrence.taskRun>
export type WireAttempt = z.output<typeof occurrence.attempt>
export type WireDeadCause = z.output<typeof occurrence.deadCause>
export type WireOperation = z.output<typeof occurrence.operationLine>
export type WireStateCounts = z.output<typeof occurrence.stateCounts>
export type WireCreated = z.output<typeof occurrence.created>
export type WireAttention = z.output<typeof overview.attention>
export type WireOverview = z.output<typeof overview.overview>
export type WireTimeline = z.output<typeof overview.timeline>
export type WireLane = z.output<typeof overview.lane>
export type WireMark = z.output<typeof overview.mark>
export type WireFigures = z.output<typeof overview.figures>
export type WireCalendar = z.output<typeof overview.calendar>
export type WireCalendarCell = z.output<typeof overview.calendarCell>
export type WireJobsPage = z.output<typeof overview.jobsPage>
export type WireOperationRequest = z.input<typeof request.operationRequest>
export type WireOperationPreview = z.output<typeof request.operationPreview>
export type WireOccurrenceFilter = z.input<typeof request.occurrenceFilter>
export type WireSession = z.output<typeof server.session>
export type WireServer = z.output<typeof server.server>
export type WireGate = z.output<typeof server.gateKey>
export type WireAuditRow = z.output<typeof server.auditRow>
export type WireNode = z.output<typeof server.nodes>['items'][number]
export type WireTimers = z.output<typeof server.timers>
export type WireToken = z.output<typeof server.token>
export type WireNewToken = z.output<typeof server.newToken>

/**
 * One message of the stream `/api/v1/events`. `event: change`: these jobs changed, read them again. `event: lag`: too much has happened
 * to say it singly, read everything again.
 */
export interface WireChange {
  /** The instant up to which the change is known; also the id of the message. */
  readonly at: string
  /** Jobs with changes since the message before, at most 100. */
  readonly jobs: readonly { readonly tenant: string; readonly name: string }[]
  /** Occurrences that changed, at most 200: the newest state of each. */
  readonly occurrences: readonly { readonly id: string; readonly tenant: string; readonly job: string; readonly state: string }[]
  readonly nodes: boolean
  readonly counts: Readonly<Record<string, number>>
}
