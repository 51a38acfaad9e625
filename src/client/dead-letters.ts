// Work that failed for good and waits for a person, one by one or by its cause.
import { messagePattern } from '../model/cause.ts'
import { checkName, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'
import type { ListFilter } from './list-filter.ts'
import { type OccurrenceLine, occurrenceLine } from './occurrence-view.ts'

/** Which dead work to list. */
export type DeadLetterFilter = Omit<ListFilter, 'state'>

/** Which dead work to group. */
export interface DeadLetterGroups {
  groupBy: 'cause'
  tenant?: string
  job?: Job
  /** The most frequent come first. Default 50, at most 500. */
  limit?: number
}

/** Dead work with one cause: the same name, code, message (but for numbers, ids and quoted text) and place in your code. */
export interface DeadLetterGroup {
  /** Filters lists and operations: `retryAll({ cause })`. */
  readonly cause: string
  /** The message without what differs from one to the next. */
  readonly label: string
  readonly count: number
  /** When the first and the last of it died. */
  readonly firstAt: Date
  readonly lastAt: Date
  readonly tenants: readonly string[]
  /** The newest of it; null when a person has just acted on it. */
  readonly sample: OccurrenceLine | null
}

export async function deadLetterGroups({ store }: ClientEnv, options: DeadLetterGroups): Promise<readonly DeadLetterGroup[]> {
  checkOptions(options, ['groupBy', 'tenant', 'job', 'limit'], 'deadLetters')
  checkOneOf(options.groupBy, 'groupBy', ['cause'])
  const { tenant, job, limit = 50 } = options
  const of = {
    ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
    ...(job !== undefined && { job: nameOf(job) }),
  }
  const { causes: groups } = await store.counts({ ...of, causes: checkWhole(limit, 'limit', 1, 500) })
  return Promise.all(
    groups.map(async ({ firstAt, lastAt, sample: _, ...group }) => {
      const [line] = (await store.list({ ...of, cause: group.cause, limit: 1 })).items
      return {
        ...group,
        label: messagePattern(line?.error?.message ?? ''),
        firstAt: new Date(firstAt),
        lastAt: new Date(lastAt),
        sample: line ? occurrenceLine(line) : null,
      }
    }),
  )
}
