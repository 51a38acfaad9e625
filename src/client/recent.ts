import type { Emitter, Events } from '../model/events.ts'
import type { ExecutionReport } from '../model/report.ts'

const perJob = 50

type Reported = Pick<Events['occurrence.completed'], 'tenant' | 'job' | 'report'>

/** The last executions of each job that this process saw, for lists that must not ask the store. */
export class Recent {
  readonly #byTenant = new Map<string, Map<string, LastReported>>()

  constructor(events: Emitter) {
    const add = (event: Reported) => this.#add(event)
    events.watch('occurrence.completed', add)
    events.watch('occurrence.failed', add)
  }

  /** The newest first. */
  of(tenant: string, job: string): readonly ExecutionReport[] {
    return this.#byTenant.get(tenant)?.get(job)?.reports ?? []
  }

  #add(event: Reported): void {
    const jobs = found(this.#byTenant, event.tenant, () => new Map<string, LastReported>())
    found(jobs, event.job, () => new LastReported()).add(event)
  }
}

function found<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

/** The last events of one job. The place of the oldest is the next to be taken. */
class LastReported {
  readonly #events: Reported[] = []
  #next = 0

  add(event: Reported): void {
    this.#events[this.#next] = event
    this.#next = (this.#next + 1) % perJob
  }

  /** The newest first. */
  get reports(): readonly ExecutionReport[] {
    const older = this.#events.slice(this.#next)
    return [...older, ...this.#events.slice(0, this.#next)].map((event) => event.report).reverse()
  }
}
