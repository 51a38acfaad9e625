// The occurrences that a filter finds, for operations over many of them.
import type { OccurrenceSummary } from '../model/occurrence.ts'
import type { OccurrenceFilter } from '../store/query.ts'
import type { Store } from '../store/store.ts'

/** The most occurrences that one operation acts on. */
const mostOfOperation = 100_000

const pageSize = 500
const shownIds = 100

/** The preview of an operation over many occurrences. */
export interface OperationPreview {
  /** How many occurrences the filter finds, up to 100,000. */
  readonly matches: number
  /** Whether there are more. */
  readonly capped: boolean
  /** How many of them the operation would change or run again. */
  readonly acts: number
  /** The ids of the first 100 of those. */
  readonly first: readonly string[]
}

/** The pages of a filter, the newest first. An occurrence comes once, whatever happens to it meanwhile. */
export async function* pagesOf(store: Store, filter: OccurrenceFilter): AsyncGenerator<readonly OccurrenceSummary[]> {
  let left = mostOfOperation
  for (let cursor: string | null | undefined; cursor !== null && left > 0; ) {
    const limit = Math.min(pageSize, left)
    const page = await store.list({ ...filter, limit, ...(cursor !== undefined && { cursor }) })
    if (page.items.length > 0) yield page.items
    left -= page.items.length
    cursor = page.cursor
  }
}

/** Counts what an operation would act on. Writes nothing. */
export async function previewOf(
  store: Store,
  filter: OccurrenceFilter,
  isWanted: (line: OccurrenceSummary) => boolean | Promise<boolean>,
): Promise<OperationPreview> {
  let matches = 0
  let acts = 0
  const first: string[] = []
  for await (const page of pagesOf(store, filter)) {
    matches += page.length
    for (const line of page) {
      if (!(await isWanted(line))) continue
      acts++
      if (first.length < shownIds) first.push(line.id)
    }
  }
  return { matches, capped: matches === mostOfOperation, acts, first }
}
