import type { Emitter, Events } from '../model/events.ts'
import type { ExecutionReport } from '../model/report.ts'

const perJob = 50

type Reported = Pick<Events['occurrence.completed'], 'tenant' | 'job' | 'report'>

/** The last executions of each job that this process saw, for lists that must not ask the store. */
export class Recent {
  readonly #byTenant = new Map<string, Map<string, Reported[]>>()

  constructor(events: Emitter) {
    const add = (event: Reported) => this.#add(event)
    events.on('occurrence.completed', add)
    events.on('occurrence.failed', add)
    events.on('occurrence.dead', add)
  }

  /** The newest first. */
  of(tenant: string, job: string): readonly ExecutionReport[] {
    return (this.#byTenant.get(tenant)?.get(job) ?? []).map((event) => event.report).toReversed()
  }

  #add(event: Reported): void {
    const jobs = this.#byTenant.get(event.tenant) ?? new Map<string, Reported[]>()
    this.#byTenant.set(event.tenant, jobs)
    const events = jobs.get(event.job)
    if (!events) jobs.set(event.job, [event])
    else if (events.push(event) > perJob) events.shift()
  }
}
