import type { Client } from 'pg'
import type { Load } from '../harness/contestant.ts'

/**
 * Fills Punctual's tables by SQL as `counts.future` calls of enqueue and `counts.history` finished runs of the job `bench` would have,
 * in a schema where the job is declared. Future jobs are due in a month, at random within a day; history was made in order.
 */
export async function fillHistory(_client: Client, schema: string, counts: Load): Promise<void> {
  throw new Error(
    `Cannot fill ${schema} with ${counts.future} future and ${counts.history} past jobs: its tables are not known yet`,
  )
}
