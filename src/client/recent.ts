import type { Emitter } from '../model/events.ts'
import type { ExecutionReport } from '../model/report.ts'

const perJob = 50

/** The last executions of each job that this process saw, for lists that must not ask the store. */
export class Recent {
  readonly #byJob = new Map<string, ExecutionReport[]>()

  constructor(events: Emitter) {
    const add = ({ report }: { report: ExecutionReport }) => this.#add(report)
    events.on('occurrence.completed', add)
    events.on('occurrence.failed', add)
    events.on('occurrence.dead', add)
  }

  /** The newest first. */
  of(tenant: string, job: string): readonly ExecutionReport[] {
    return (this.#byJob.get(JSON.stringify([tenant, job])) ?? []).toReversed()
  }

  #add(report: ExecutionReport): void {
    const key = JSON.stringify([report.tenant, report.job])
    const reports = this.#byJob.get(key) ?? []
    this.#byJob.set(key, reports)
    if (reports.push(report) > perJob) reports.shift()
  }
}
