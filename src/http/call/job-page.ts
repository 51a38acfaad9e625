import { decodePlace, encodePlace } from '../../client/job-cursor.ts'
import { builtInPrefix } from '../../engine/node/registry.ts'
import type { JobRecord } from '../../model/job.ts'
import { nameHolds } from '../../model/job-search.ts'
import type { JobQuery } from '../../store/store.ts'
import type { Board, Facts } from '../board/board.ts'
import { jobLine, marksOf } from '../board/job-line.ts'
import type { WireJobsPage } from '../wire.ts'
import type { Call } from './call.ts'

const defaultPage = 50
/** Rows that one request passes by while it looks for matches. */
const mostPassedBy = 1500
const readAtOnce = 500

/** A page of jobs by name. With a filter a page may be short although there are more: the cursor tells. */
export async function jobPage(call: Call<'jobs.list'>, tenant: string | undefined): Promise<WireJobsPage> {
  const { board } = call.desk
  const facts = await board.facts(tenant)
  const isFirst = call.query.cursor === undefined
  const [page, marks] = await Promise.all([pageOf(call, tenant, facts), isFirst ? markCounts(board, tenant, facts) : null])
  return { ...page, marks }
}

async function pageOf(call: Call<'jobs.list'>, tenant: string | undefined, facts: Facts): Promise<Omit<WireJobsPage, 'marks'>> {
  const { search, mark, limit = defaultPage, cursor } = call.query
  const { board } = call.desk
  const isWanted = (record: JobRecord) =>
    !record.name.startsWith(builtInPrefix) &&
    (search === undefined || nameHolds(record.name, search)) &&
    (mark === undefined || hasMark(marksOf(record, facts), mark))
  const found: JobRecord[] = cursor === undefined ? (await board.shared(tenant)).filter(isWanted) : []
  const names = namesWith(mark, facts)
  let place = cursor === undefined ? undefined : decodePlace(cursor)
  let isMore = true
  for (let passed = 0; isMore && found.length < limit && passed < mostPassedBy; ) {
    const size = mark === undefined || names ? limit - found.length : readAtOnce
    const records = await nextJobs(call, names, {
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
  }
}

type Asked = Pick<JobQuery, 'tenant' | 'after' | 'limit'>

/** Jobs in order. Those with a mark that the facts have are known by name; for another mark all are read. */
async function nextJobs({ desk: { env }, query: { search } }: Call<'jobs.list'>, names: readonly string[] | null, asked: Asked) {
  const query = { ...asked, ...(search !== undefined && { search }) }
  if (names === null) return env.store.readJobs(query)
  const found: JobRecord[] = []
  for (const name of names) {
    if (found.length === asked.limit) break
    if (asked.after && name < asked.after.name) continue
    found.push(...(await env.store.readJobs({ ...query, name, limit: asked.limit - found.length })))
  }
  return found
}

function namesWith(mark: string | undefined, facts: Facts): readonly string[] | null {
  if (mark !== 'failing' && mark !== 'late' && mark !== 'missed') return null
  return [...new Set([...facts[mark].keys()].map((key) => key.slice(key.indexOf('\n') + 1)))].sort()
}

function hasMark(marks: readonly string[], mark: string): boolean {
  return mark === 'on-time' ? marks.every((one) => one === 'overridden') : marks.includes(mark)
}

async function markCounts(board: Board, tenant: string | undefined, facts: Facts): Promise<Record<string, number>> {
  const { jobs } = await board.jobs(tenant)
  const counts: Record<string, number> = { all: jobs.length, 'on-time': 0 }
  for (const marks of jobs.map((job) => marksOf(job, facts))) {
    if (hasMark(marks, 'on-time')) counts['on-time'] = (counts['on-time'] ?? 0) + 1
    for (const mark of marks) counts[mark] = (counts[mark] ?? 0) + 1
  }
  return counts
}
