import { z } from 'zod'
import { attemptStates, taskRunStates, turnEnds } from '../../model/lifecycle.ts'
import { durationMs, error, instant, json, source, state, whole } from './part.ts'

export const occurrenceLine = z
  .object({
    id: z.string(),
    tenant: z.string(),
    job: z.string(),
    key: z.string().nullable(),
    idempotencyKey: z.string().nullable(),
    entity: z.string().nullable(),
    state,
    /** Due, not started, beyond the grace. */
    late: z.boolean(),
    source,
    turn: whole,
    scheduledAt: instant,
    dueAt: instant,
    createdAt: instant,
    startedAt: instant.nullable(),
    endedAt: instant.nullable(),
    /** From its start to its end. */
    tookMs: durationMs.nullable(),
    error: error.nullable(),
    /** Why it was canceled, skipped or missed, where that is known. */
    reason: z.string().nullable(),
    /** The cause of its failure, as dead letters are grouped by. */
    cause: z.string().nullable(),
  })
  .meta({ id: 'OccurrenceLine' })

export const attempt = z.object({
  id: z.string(),
  n: whole,
  state: z.enum(attemptStates),
  turn: whole,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  durationMs: durationMs.nullable(),
  error: error.nullable(),
})

export const taskRun = z.object({
  id: z.string(),
  name: z.string(),
  after: z.array(z.string()).nullable(),
  state: z.enum(taskRunStates),
  result: json,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  attempts: z.array(attempt),
})

const turn = z.object({
  turn: whole,
  end: z.enum(turnEnds),
  node: z.string().nullable(),
  nodeName: z.string().nullable(),
  startedAt: instant.nullable(),
  endedAt: instant,
  error: error.nullable(),
  reason: z.string().nullable(),
})

const attemptLog = z.object({
  task: z.string(),
  attempt: whole,
  turn: whole,
  /** How many older lines did not fit. */
  dropped: whole,
  lines: z.array(
    z.object({
      at: instant,
      level: z.enum(['info', 'warn', 'error']),
      message: z.string(),
      fields: z.record(z.string(), json).optional(),
    }),
  ),
})

const explainReason = z.object({ code: z.string(), message: z.string(), details: z.record(z.string(), json) })

const link = z.object({ id: z.string(), job: z.string(), state })

export const occurrence = occurrenceLine
  .extend({
    definition: z.string(),
    version: whole,
    refs: z.record(z.string(), json),
    priority: whole,
    /** Null for viewers, and where it is hidden. `redacted` names hidden paths. */
    payload: json,
    payloadBytes: whole,
    redacted: z.array(z.string()),
    result: json,
    node: z.string().nullable(),
    nodeName: z.string().nullable(),
    wait: z.object({ reason: z.string(), until: instant.nullable(), blockers: z.array(z.string()) }).nullable(),
    replay: z.object({ origin: z.string(), reason: z.string(), tasks: z.array(z.string()).nullable() }).nullable(),
    span: z.object({ from: instant, to: instant, count: whole }).nullable(),
    failedTasks: whole,
    progress: z.object({ task: z.string(), done: z.number(), message: z.string().nullable(), at: instant }).nullable(),
    /** The stored lines of `ctx.log`, by turn, task and try; none for viewers. */
    log: z.array(attemptLog),
    settings: z.record(z.string(), json).nullable(),
    tasks: z.array(taskRun),
    turns: z.array(turn),
    /** The occurrence whose handler created it. */
    parent: link.nullable(),
    /** Occurrences that its handler created, at most 50. */
    children: z.array(link),
    /** The reasons for its state: `explain`. */
    why: z.array(explainReason),
    /** Dead letters of the same cause besides it, counted to 100. */
    sameCause: whole,
    updatedAt: instant,
  })
  .meta({ id: 'Occurrence' })

export const created = z.object({
  id: z.string(),
  outcome: z.enum(['created', 'existing', 'moved', 'replaced', 'tombstoned']),
  state: state.nullable(),
  differs: z.boolean(),
})

export const explanation = z.object({
  subject: z.enum(['job', 'occurrence']),
  id: z.string(),
  reasons: z.array(explainReason),
})

/** `capped`: there are at least so many. */
export const stateCounts = z.object({
  states: z.record(state, z.object({ count: whole, capped: z.boolean() })),
  total: z.object({ count: whole, capped: z.boolean() }),
})

export const deadCause = z.object({
  /** Addresses the group: a hash of job, task and the error without its numbers and ids. */
  cause: z.string(),
  label: z.string(),
  job: z.string(),
  task: z.string().nullable(),
  count: whole,
  /** How many of them, the newest, `tenants`, `spark` and `entities` are counted over. */
  seen: whole,
  tenants: z.array(z.object({ tenant: z.string(), count: whole })),
  firstAt: instant,
  lastAt: instant,
  /** Ends in equal steps, the newest last. */
  spark: z.object({ stepMs: durationMs, counts: z.array(whole) }),
  entities: z.array(z.object({ entity: z.string(), count: whole })),
  /** Of the newest ten: the nodes they failed on, by name, and their versions. */
  nodes: z.array(z.string()),
  versions: z.array(whole),
  /** When the newest completed occurrence of the job ended. */
  lastSuccessAt: instant.nullable(),
  /** The newest of the group. */
  sample: occurrenceLine.nullable(),
})

export const operationLine = z.object({
  id: z.string(),
  kind: z.string(),
  tenant: z.string(),
  /** The job it is about, where it is about one. */
  job: z.string().nullable(),
  state,
  by: z.string().nullable(),
  reason: z.string().nullable(),
  createdAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  /** How far it is, 0 to 1; null before its first report. */
  done: z.number().nullable(),
  message: z.string().nullable(),
  /** The input of the operation. */
  request: json,
  /** The outcome of the operation. */
  result: json,
  error: error.nullable(),
})
