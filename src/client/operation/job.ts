import { z } from 'zod'
import { durationMs, error, instant, json, source, state, whole } from './part.ts'

/** The marks of a job, the worst first; `on-time` alone when nothing is to say. */
export const jobMark = z.enum([
  'failing',
  'late',
  'missed',
  'running',
  'waiting',
  'paused',
  'orphaned',
  'disabled',
  'retired',
  'overridden',
  'on-time',
])

/** One of the newest runs of a job, as the row of dots shows it. */
export const recentRun = z.object({
  id: z.string(),
  state,
  source,
  scheduledAt: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  tookMs: durationMs.nullable(),
  error: z.string().nullable(),
})

export const pause = z.object({
  tenant: z.string().nullable(),
  job: z.string().nullable(),
  from: instant,
  until: instant.nullable(),
  reason: z.string().nullable(),
  by: z.string().nullable(),
})

export const scheduleFacts = z.object({
  /** cron, interval, rrule, once, union, or an own kind. */
  kind: z.string(),
  /** The text it was written as; null for kinds without one. */
  text: z.string().nullable(),
  /** In words. */
  words: z.string(),
  timezone: z.string().nullable(),
  json: z.record(z.string(), json),
})

export const jobLine = z
  .object({
    id: z.string(),
    tenant: z.string(),
    name: z.string(),
    definition: z.string(),
    version: whole,
    schedule: scheduleFacts.nullable(),
    tasks: z.array(z.string()),
    marks: z.array(jobMark),
    enabled: z.boolean(),
    paused: z.boolean(),
    pausedUntil: instant.nullable(),
    retired: z.boolean(),
    orphaned: z.boolean(),
    /** Work of all tenants is shown with it: a job without a schedule, declared in the default tenant. */
    shared: z.boolean(),
    overridden: z.array(z.string()),
    /** The newest release of the live nodes that declare it; null where none gives one. */
    release: whole.nullable(),
    nextRun: instant.nullable(),
    /** The oldest due instant of work that has not started although its grace is over; null for none. */
    lateSince: instant.nullable(),
    running: whole,
    waiting: whole,
    dead: whole,
    /** Enqueued work that is not due yet. */
    pending: whole,
    failuresInRow: whole,
    lastRun: instant.nullable(),
    /** The newest 20 that ended, the newest last. */
    recent: z.array(recentRun),
    /** The median run time of `recent`. */
    p50Ms: durationMs.nullable(),
    updatedAt: instant,
  })
  .meta({ id: 'JobLine' })

const jobTask = z.object({
  name: z.string(),
  after: z.array(z.string()).nullable(),
  settings: z.record(z.string(), json),
})

export const job = jobLine
  .extend({
    payload: json,
    /** Effective: defaults, scheduler, definition, job. */
    settings: z.record(z.string(), json),
    /** The declared values of the fields that a person has changed. */
    declared: z.object({ schedule: scheduleFacts.nullable(), settings: z.record(z.string(), json) }).nullable(),
    taskGraph: z.array(jobTask),
    counts: z.record(state, whole),
    pauses: z.array(pause),
    /** The live nodes that declare it. */
    declaredBy: z.array(z.object({ node: z.string(), release: whole.nullable() })),
    /** The share of `recent` that completed, 0 to 1; null where nothing ended. */
    completedShare: z.number().nullable(),
    /** The JSON Schema of its payload, where this process knows it and it can be told. */
    payloadSchema: z.record(z.string(), json).nullable(),
    createdAt: instant,
  })
  .meta({ id: 'Job' })

export const fieldChange = z.object({ field: z.string(), from: json, to: json })

export const version = z.object({
  version: whole,
  effectiveAt: instant,
  createdAt: instant,
  by: z.string().nullable(),
  scheduleText: z.string().nullable(),
  /** Changes against the version before; empty for the first version. */
  changes: z.array(fieldChange),
})

export const updated = z.object({
  version: whole,
  /** When it takes hold. */
  effectiveAt: instant,
  /** Of a `windowed` change: the instants that differ within the window. */
  difference: z.object({ from: instant, to: instant, added: z.array(instant), removed: z.array(instant) }).nullable(),
})

export const scheduled = updated.omit({ effectiveAt: true }).extend({
  id: z.string(),
  job: z.string(),
  outcome: z.enum(['created', 'updated', 'unchanged', 'left']),
  nextRun: instant.nullable(),
})

const previewRow = z.object({
  at: instant,
  local: z.string(),
  offset: z.string(),
  weekday: z.string(),
  mark: z.enum(['after-gap', 'first-pass', 'second-pass', 'changed']).nullable(),
})

export const schedulePreview = z.object({
  schedule: scheduleFacts,
  next: z.array(previewRow),
  /** The next clock change of its zone, however far, with the instants around it; null where the clock never changes. */
  clockChange: z.object({ at: instant, from: z.string(), to: z.string(), rows: z.array(previewRow) }).nullable(),
  warnings: z.array(z.object({ code: z.string(), message: z.string(), at: instant.nullable() })),
  /** Other jobs whose next instant is the same. */
  sameInstant: z.array(z.object({ tenant: z.string(), name: z.string() })),
})

export const status = z.object({
  active: z.boolean(),
  enabled: z.boolean(),
  paused: z.boolean(),
  running: z.boolean(),
  nextRun: instant.nullable(),
  lastRun: instant.nullable(),
  lastResult: z.object({ id: z.string(), state, result: json, error: error.nullable() }).nullable(),
})
