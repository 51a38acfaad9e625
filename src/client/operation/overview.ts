import { z } from 'zod'
import { jobLine } from './job.ts'
import { occurrenceLine } from './occurrence.ts'
import { durationMs, instant, state, whole } from './part.ts'

const jobRef = z.object({ tenant: z.string(), name: z.string() })

/** Things that need a person, the worst first. The set of fields depends on `kind`. */
export const attention = z.object({
  kind: z.enum(['dead', 'late', 'missed', 'failing', 'orphaned', 'unserved', 'stuck-node']),
  tenant: z.string().nullable(),
  job: z.string().nullable(),
  task: z.string().nullable(),
  /** Of `dead`: the group and its label. */
  cause: z.string().nullable(),
  label: z.string(),
  count: whole,
  /** Whether `tenants` is counted over the newest of them only. */
  capped: z.boolean(),
  tenants: z.array(z.object({ tenant: z.string(), count: whole })),
  firstAt: instant.nullable(),
  lastAt: instant.nullable(),
  /** An occurrence to look at. */
  sample: z.string().nullable(),
  /** Of `dead` and `failing`: the code of its error, where it has one. */
  code: z.string().nullable(),
  /** Whether the job has failed since its last success. */
  failing: z.boolean(),
  /** Why, where there is more to say. */
  why: z.string().nullable(),
})

const runningLine = occurrenceLine.extend({
  node: z.string().nullable(),
  progress: z.number().nullable(),
  tasksDone: whole,
  tasks: whole,
})

const coming = z.object({
  tenant: z.string(),
  job: z.string(),
  at: instant,
  /** Null for an instant of a schedule that is not planned yet. */
  id: z.string().nullable(),
  key: z.string().nullable(),
})

export const overview = z
  .object({
    now: instant,
    health: z.object({ state: z.enum(['ok', 'degraded', 'stopped']), reasons: z.array(z.string()) }),
    counts: z.record(state, whole),
    jobs: z.object({
      total: whole,
      onTime: whole,
      late: whole,
      failing: whole,
      missed: whole,
      paused: whole,
      orphaned: whole,
      disabled: whole,
      overridden: whole,
      /** Jobs beyond this many are not looked at one by one. */
      capped: z.boolean(),
    }),
    late: z.object({
      jobs: whole,
      graceMs: durationMs,
      oldest: jobRef.extend({ dueAt: instant, id: z.string() }).nullable(),
    }),
    failed: z.object({ lastHour: whole, dead: whole, causes: whole }),
    running: z.object({ count: whole, slots: whole, nodes: whole, beating: whole, items: z.array(runningLine) }),
    waiting: z.object({ count: whole, by: z.record(z.string(), whole) }),
    next: z.array(coming),
    attention: z.array(attention),
    /** Whether everything is paused, or the tenant asked for. */
    paused: z.boolean(),
  })
  .meta({ id: 'Overview' })

/** One run on the ribbon. */
export const mark = z.object({
  id: z.string().nullable(),
  at: instant,
  startedAt: instant.nullable(),
  endedAt: instant.nullable(),
  state,
  late: z.boolean(),
  source: z.string(),
  note: z.string().nullable(),
})

/** Runs of one step, where single ones would be too many. */
const bin = z.object({ at: instant, completed: whole, failed: whole, missed: whole, skipped: whole, canceled: whole })

export const lane = z.object({
  tenant: z.string(),
  job: z.string(),
  marks: z.array(jobLine.shape.marks.element),
  overridden: z.boolean(),
  nextRun: instant.nullable(),
  /** The newest instant that was missed within the last day. */
  missedAt: instant.nullable(),
  pending: whole,
  /** The past as single runs, or null where there are too many: then `bins`. */
  past: z.array(mark).nullable(),
  bins: z.array(bin).nullable(),
  /** Work under way: running, waiting, late. */
  open: z.array(mark),
  /** Coming instants, or null where there are too many: then `comingBins`. */
  coming: z.array(z.object({ at: instant, id: z.string().nullable() })).nullable(),
  comingBins: z.array(z.object({ at: instant, count: whole })).nullable(),
  pauses: z.array(z.object({ from: instant, until: instant.nullable() })),
})

export const timeline = z
  .object({
    now: instant,
    from: instant,
    to: instant,
    stepMs: durationMs,
    /** Jobs by attention, then by their next instant. */
    lanes: z.array(lane),
    /** How many further jobs there are. */
    more: whole,
    /** When no node ran. */
    outages: z.array(z.object({ from: instant, to: instant })),
  })
  .meta({ id: 'Timeline' })

const spread = z.object({ count: whole, p50: durationMs, p95: durationMs, p99: durationMs, max: durationMs }).nullable()

const figurePoint = z.object({
  at: instant,
  completed: whole,
  /** Ended as failed or dead. */
  failed: whole,
  canceled: whole,
  skipped: whole,
  missed: whole,
  /** Attempts that failed, retried ones included. */
  failedAttempts: whole,
  /** From due to start, of first starts. */
  lateness: spread,
  /** From the end of its wait to its start, of every turn. */
  wait: spread,
  /** From start to end of a turn. */
  run: spread,
})

const gaugePoint = z.object({
  at: instant,
  pending: whole,
  waiting: whole,
  running: whole,
  retrying: whole,
  dead: whole,
  /** The age of the oldest due work; null for none. */
  oldestDueMs: durationMs.nullable(),
})

export const figures = z
  .object({
    now: instant,
    from: instant,
    to: instant,
    stepMs: durationMs,
    points: z.array(figurePoint),
    gauges: z.array(gaugePoint),
  })
  .meta({ id: 'Figures' })

/** One hour on the wall of the zone. A repeated hour is two cells. */
const cell = z.object({
  at: instant,
  /** The first instant after it. */
  to: instant,
  /** `2026-10-25`, on the wall. */
  date: z.string(),
  /** 0 to 23, on the wall. */
  hour: whole,
  /** The second pass of a repeated hour. */
  repeated: z.boolean(),
  completed: whole,
  failed: whole,
  missed: whole,
  skipped: whole,
  canceled: whole,
  coming: whole,
})

export const calendar = z
  .object({
    now: instant,
    from: instant,
    to: instant,
    timezone: z.string(),
    cells: z.array(cell),
    /** Clock changes in the range. */
    changes: z.array(z.object({ at: instant, from: z.string(), to: z.string() })),
    /** The hour of the day with most runs on average, and the fullest hour to come. */
    busiestHour: z.object({ hour: whole, runs: z.number() }).nullable(),
    nextPeak: z.object({ at: instant, runs: whole }).nullable(),
    /** Jobs that were too many to look ahead for. */
    capped: z.boolean(),
  })
  .meta({ id: 'Calendar' })

/** The contents of one cell: by job, and minute by minute. */
export const calendarCell = z.object({
  from: instant,
  to: instant,
  jobs: z.array(z.object({ tenant: z.string(), job: z.string(), count: whole })),
  minutes: z.array(z.object({ at: instant, count: whole })),
})

export const jobsPage = z.object({
  items: z.array(jobLine),
  cursor: z.string().nullable(),
  /** Of all jobs of the tenant asked for, by mark; only on the first page. */
  marks: z.record(z.string(), whole).nullable(),
})
