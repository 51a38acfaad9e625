import { plainAge, type RetentionPolicy } from '../../model/retention.ts'
import { cascade } from '../../model/settings.ts'
import type { PruneRequest, RetentionRule } from '../../store/store.ts'
import type { Env } from '../env.ts'
import { allJobs } from './all-jobs.ts'

/** How long the retention of jobs is remembered: reading all jobs at each pass would cost more than deleting. */
const freshMs = 60_000

type JobPolicy = { readonly tenant: string; readonly job: string; readonly policy: RetentionPolicy }

/** The rules by which ended occurrences go: one age for most jobs, and rules for those whose settings differ. */
export class Retention {
  readonly #env: Env
  #own: readonly JobPolicy[] = []
  #readAt = Number.NEGATIVE_INFINITY
  #readTime = 0

  constructor(env: Env) {
    this.#env = env
  }

  async rules(): Promise<Pick<PruneRequest, 'endedBefore' | 'rules'>> {
    const { time, options, clock } = this.#env
    const now = time.now()
    const base = plainAge(cascade(options.settings).retention)
    if (clock.mono() - this.#readAt >= freshMs) {
      this.#own = await this.#read(base)
      this.#readAt = clock.mono()
      this.#readTime = now
    }
    // Work that ended after the read may belong to a new job with a longer retention.
    return {
      endedBefore: base == null ? null : Math.min(now - base, this.#readTime),
      rules: this.#own.map((own) => ruleOf(own, now)),
    }
  }

  async #read(base: number | null | undefined): Promise<readonly JobPolicy[]> {
    const { store, options } = this.#env
    const own: JobPolicy[] = []
    for await (const { tenant, name, spec } of allJobs(store)) {
      const policy = cascade(options.settings, spec.defaults, spec.settings).retention
      const age = plainAge(policy)
      if (age === undefined || age !== base) own.push({ tenant, job: name, policy })
    }
    return own
  }
}

function ruleOf({ tenant, job, policy }: JobPolicy, now: number): RetentionRule {
  const ends = Object.entries(policy).map(([end, { ageMs, count }]) => [
    end,
    { endedBefore: ageMs === null ? null : now - ageMs, count },
  ])
  return { tenant, job, ends: Object.fromEntries(ends) }
}
