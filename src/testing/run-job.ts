import type { EnqueueOptions } from '../client/new-occurrence.ts'
import type { Occurrence } from '../client/occurrence-view.ts'
import { createPunctual, type Punctual } from '../client/punctual.ts'
import { PunctualError, shown } from '../errors.ts'
import type { Handler, Logger } from '../model/context.ts'
import {
  type AnyDefinition,
  Definition,
  type InputOf,
  type PayloadOf,
  type ResultOf,
  type ResultsOf,
  type TaskDefinition,
  tasksOf,
} from '../model/definition.ts'
import { isEnd, type OccurrenceState } from '../model/lifecycle.ts'
import { checkObject, checkOptions } from '../model/limits.ts'
import type { ErrorRecord, ExecutionReport } from '../model/report.ts'
import { memory } from '../store/memory/index.ts'
import type { InstantInput } from '../time/instant.ts'
import { type ManualClock, manualClock } from './manual-clock.ts'

/** Changes that a test makes to a run. */
export interface RunJobOverrides<Job extends AnyDefinition = AnyDefinition> {
  /** Handlers in place of those of the definition, by task: fakes for what must not run in a test. */
  handlers?: {
    readonly [Task in keyof ResultsOf<Job>]?: Handler<PayloadOf<Job>, Readonly<Partial<ResultsOf<Job>>>, ResultsOf<Job>[Task]>
  }
  /** Options of the occurrence, as `enqueue` takes them: settings, key, tenant, refs. */
  options?: Omit<EnqueueOptions, 'tx'>
  /** The instant at which the run begins. Default 2026-01-01T00:00:00Z. */
  now?: InstantInput
  /** Default: no lines. */
  log?: Logger
}

/** How a job went in `runJob`. */
export interface JobRun<Job extends AnyDefinition = AnyDefinition> {
  readonly state: OccurrenceState
  /** As the `result` of a handle; undefined unless it has completed. */
  readonly result: ResultOf<Job> | undefined
  /** The results of the tasks that succeeded, by name. */
  readonly results: Readonly<Partial<ResultsOf<Job>>>
  readonly error: ErrorRecord | null
  /** Every task and attempt, as `onComplete` gets it. */
  readonly report: ExecutionReport
  readonly occurrence: Occurrence<ResultOf<Job>, InputOf<Job>>
}

type RunArguments<Job extends AnyDefinition> =
  undefined extends InputOf<Job>
    ? [payload?: InputOf<Job>, overrides?: RunJobOverrides<Job>]
    : [payload: InputOf<Job>, overrides?: RunJobOverrides<Job>]

/**
 * Runs one occurrence of a job to its end, in memory and on a manual clock: waits between retries and timeouts take no real time.
 * A run that fails resolves too. The job's schedule is left out.
 * @example const { state, results } = await runJob(invoice, { customer: 'acme' })
 */
export async function runJob<const Job extends AnyDefinition>(
  definition: Job,
  ...payloadAndOverrides: RunArguments<Job>
): Promise<JobRun<Job>> {
  if (!(definition instanceof Definition))
    throw new PunctualError('option.invalid', `runJob takes a definition made by defineJob; got ${shown(definition)}`, {
      field: 'definition',
    })
  const [payload, overrides = {}] = payloadAndOverrides
  checkObject(overrides, 'overrides of runJob')
  checkOptions(overrides, ['handlers', 'options', 'now', 'log'], 'overrides of runJob')
  const { handlers = {}, options, now, log = silent } = overrides
  const clock = manualClock(now)
  const job = withHandlers(definition, handlers as Record<string, Handler>)
  const punctual = createPunctual({ store: memory(), clock, log, jobs: [job] })
  try {
    const { occurrence, report } = await runToEnd(punctual, clock, () => punctual.enqueue(job, payload, options))
    const succeeded = occurrence.tasks.filter(({ state }) => state === 'succeeded')
    return {
      state: occurrence.state,
      result: occurrence.result as ResultOf<Job> | undefined,
      results: Object.fromEntries(succeeded.map(({ name, result }) => [name, result])) as Partial<ResultsOf<Job>>,
      error: occurrence.error,
      report,
      occurrence: occurrence as JobRun<Job>['occurrence'],
    }
  } finally {
    await punctual.close()
  }
}

async function runToEnd(
  punctual: Punctual,
  clock: ManualClock,
  enqueue: () => Promise<{ readonly id: string }>,
): Promise<{ occurrence: Occurrence; report: ExecutionReport }> {
  const reports = new Map<string, ExecutionReport>()
  punctual.on('occurrence.completed', ({ id, report }) => reports.set(id, report))
  punctual.on('occurrence.failed', ({ id, report }) => reports.set(id, report))
  await punctual.start()
  const { id } = await enqueue()
  for (;;) {
    // Waits for handlers with real I/O, too.
    await clock.settle()
    const report = reports.get(id)
    if (report) return { occurrence: (await punctual.get(id)) as Occurrence, report }
    await checkUnended(punctual, id)
    await clock.advance(Math.max(1, clock.nextTimerMs ?? 1000))
  }
}

/** Only a run that completes or fails has a report. */
async function checkUnended(punctual: Punctual, id: string): Promise<void> {
  const occurrence = await punctual.get(id)
  if (occurrence && isEnd(occurrence.state) && occurrence.state !== 'completed' && occurrence.state !== 'failed')
    await punctual.result(id)
}

function withHandlers(definition: AnyDefinition, handlers: Readonly<Record<string, Handler>>): AnyDefinition {
  const tasks = tasksOf(definition)
  checkObject(handlers, 'handlers of runJob')
  checkOptions(
    handlers,
    tasks.map(({ name }) => name),
    'handlers of runJob',
  )
  const { schedule: _, ...options } = definition.options
  return new Definition(
    definition.name,
    options,
    definition.settings,
    tasks.map((task) => withHandler(task, handlers[task.name], definition.name)),
  )
}

function withHandler(task: TaskDefinition, handler: Handler | undefined, job: string): TaskDefinition {
  const { module, ...own } = task
  if (handler) return { ...own, handler }
  if (task.handler || module !== undefined) return task
  throw new PunctualError(
    'option.invalid',
    `Task ${JSON.stringify(task.name)} of job ${JSON.stringify(job)} has no handler; give runJob one in handlers`,
    { field: 'handlers', job, task: task.name },
  )
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }
