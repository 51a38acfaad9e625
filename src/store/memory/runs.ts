import type { TurnRecord } from '../../model/occurrence.ts'

/** Names hold no line breaks, so no two jobs share a key. */
export function jobKey(tenant: string, name: string): string {
  return `${tenant}\n${name}`
}

function jobOf(key: string): JobName {
  const [tenant, job] = key.split('\n') as [string, string]
  return { tenant, job }
}

interface JobName {
  readonly tenant: string
  readonly job: string
}

/** How the runs of each job went: when the latest began, and how many have failed since the last success. */
export class Runs {
  readonly #lastRuns = new Map<string, number>()
  readonly #failures = new Map<string, number>()

  noteHook({ tenant, job }: JobName, { end }: TurnRecord): void {
    const key = jobKey(tenant, job)
    if (end === 'completed') this.#failures.delete(key)
    else if (end === 'failed' || end === 'dead') this.#failures.set(key, (this.#failures.get(key) ?? 0) + 1)
  }

  noteRun({ tenant, job }: JobName, startedAt: number): void {
    const key = jobKey(tenant, job)
    this.#lastRuns.set(key, Math.max(this.#lastRuns.get(key) ?? 0, startedAt))
  }

  forget({ tenant, job }: JobName): void {
    this.#lastRuns.delete(jobKey(tenant, job))
    this.#failures.delete(jobKey(tenant, job))
  }

  /** When the latest run of a job began. */
  lastOf({ tenant, job }: JobName): number | null {
    return this.#lastRuns.get(jobKey(tenant, job)) ?? null
  }

  /** Jobs with failures since the last success, by name and tenant. */
  failing(isAsked: (job: JobName) => boolean): readonly JobName[] {
    const jobs = [...this.#failures.keys()].map(jobOf).filter(isAsked)
    return jobs.sort((a, b) => (jobKey(a.job, a.tenant) < jobKey(b.job, b.tenant) ? -1 : 1))
  }

  /** The same over several jobs. */
  ofJobs(isAsked: (job: JobName) => boolean): { readonly lastRunAt: number | null; readonly failuresInRow: number } {
    const values = (of: ReadonlyMap<string, number>) => [...of].flatMap(([key, value]) => (isAsked(jobOf(key)) ? [value] : []))
    const runs = values(this.#lastRuns)
    return {
      lastRunAt: runs.length === 0 ? null : Math.max(...runs),
      failuresInRow: values(this.#failures).reduce((sum, count) => sum + count, 0),
    }
  }
}
