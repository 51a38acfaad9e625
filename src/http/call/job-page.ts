import { decodePlace, encodePlace } from '../../client/job-cursor.ts'
import { builtInPrefix } from '../../engine/node/registry.ts'
import type { JobRecord } from '../../model/job.ts'
import { jobLine, marksOf } from '../board/job-line.ts'
import type { WireJobsPage } from '../wire.ts'
import type { Call } from './call.ts'

const defaultPage = 50
/** Rows that one request passes by while it looks for matches. */
const mostPassedBy = 5000
const readAtOnce = 500

/** A page of jobs by name. With a filter a page may be short although there are more: the cursor tells. */
export async function jobPage(call: Call<'jobs.list'>, tenant: string | undefined): Promise<WireJobsPage> {
  const { search, mark, limit = defaultPage, cursor } = call.query
  const { board, env } = call.desk
  const facts = await board.facts(tenant)
  const isWanted = (record: JobRecord) =>
    !record.name.startsWith(builtInPrefix) &&
    (search === undefined || record.name.toLowerCase().includes(search.toLowerCase())) &&
    (mark === undefined || hasMark(marksOf(record, facts), mark))
  const found: JobRecord[] = cursor === undefined ? (await board.shared(tenant)).filter(isWanted) : []
  let place = cursor === undefined ? undefined : decodePlace(cursor)
  let isMore = true
  for (let passed = 0; isMore && found.length < limit && passed < mostPassedBy; ) {
    const size = search === undefined && mark === undefined ? limit - found.length : readAtOnce
    const records = await env.store.readJobs({
      ...(tenant !== undefined && { tenant }),
      ...(place && { after: place }),
      limit: size,
    })
    isMore = records.length === size
    for (const record of records) {
      if (found.length === limit) {
        isMore = true
        break
      }
      place = { name: record.name, tenant: record.tenant }
      passed += 1
      if (isWanted(record)) found.push(record)
    }
  }
  return {
    items: await Promise.all(found.map((record) => jobLine(board, record, facts))),
    cursor: isMore && place ? encodePlace(place) : null,
    marks: cursor === undefined ? await markCounts(call, tenant) : null,
  }
}

function hasMark(marks: readonly string[], mark: string): boolean {
  return mark === 'on-time' ? marks.every((one) => one === 'overridden') : marks.includes(mark)
}

async function markCounts({ desk: { board } }: Call<'jobs.list'>, tenant: string | undefined): Promise<Record<string, number>> {
  const facts = await board.facts(tenant)
  const { jobs } = await board.jobs(tenant)
  const counts: Record<string, number> = { all: jobs.length, 'on-time': 0 }
  for (const marks of jobs.map((job) => marksOf(job, facts))) {
    if (hasMark(marks, 'on-time')) counts['on-time'] = (counts['on-time'] ?? 0) + 1
    for (const mark of marks) counts[mark] = (counts[mark] ?? 0) + 1
  }
  return counts
}
