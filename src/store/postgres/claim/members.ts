// Members of a claim, as the node gets them. They carry what later writes need, so those look nothing up.
import { versionAt } from '../../../model/job.ts'
import type { OccurrenceRecord } from '../../../model/occurrence.ts'
import { mayHaveBegun, recoveries } from '../../../model/turn.ts'
import type { ClaimMember, ClaimRequest, MemberWrite } from '../../store.ts'
import type { Moving } from '../changes/changes.ts'
import type { Session } from '../connection/session.ts'
import type { Context } from '../context.ts'
import { noHistory, readHistories } from '../occurrence/history.ts'
import { type OccurrenceRow, occurrenceRecord } from '../occurrence/record.ts'

export type MemberRow = [...OccurrenceRow, dueAt: number, turn: number]

/** Facts that later writes of a member need. */
interface Facts {
  readonly series: number
  /** The number of its kind. */
  readonly kind: number
  readonly hasBegun: boolean
  readonly batch: Batch
}

/** By the member that the node hands back with every write. A copy, or one of another process, is looked up with care. */
const factsOf = new WeakMap<ClaimMember, Facts>()

/** The claim of a member, with those whose turns have not ended as far as this process knows. */
export interface Batch {
  readonly id: string
  readonly node: string
  readonly left: Set<number>
}

/** By series: the newest version of the job, and when its latest run that has ended began. */
export type JobFacts = readonly [series: number, version: number, lastRunAt: number | null]

export interface Describing {
  readonly claim: Pick<ClaimRequest, 'id' | 'node'>
  readonly now: number
  readonly jobs: readonly JobFacts[]
  /** Attempts may have been recorded in the turn itself. */
  readonly isRepeated?: boolean
}

export async function describe(
  context: Context,
  session: Session,
  rows: readonly MemberRow[],
  { claim, now, jobs, isRepeated = false }: Describing,
): Promise<ClaimMember[]> {
  if (rows.length === 0) return []
  const { names, versions } = context
  await names.learn(session, { series: rows.map((row) => row[2]), forms: rows.map((row) => row[3]) })
  const changed = jobs.filter(([series, version]) => versions.of(series) === undefined || versions.newest(series) !== version)
  await versions.refresh(
    session,
    changed.map(([series]) => series),
  )
  const lastRuns = new Map(jobs.map(([series, , lastRunAt]) => [series, lastRunAt]))
  const histories = await readHistories(
    session,
    rows.filter((row) => isRepeated || row[11] > 1).map((row) => row[0]),
  )
  const settings = new SettingsOfJobs(context, now)
  const batch = { id: claim.id, node: claim.node, left: new Set(rows.map((row) => row[0])) }
  return rows.map((row) => {
    const { 0: ref, 2: series, 3: form, 10: dueAt, 11: turn } = row
    const record = occurrenceRecord(names, row)
    const { turns, attempts } = histories.get(ref) ?? noHistory
    const member: ClaimMember = {
      ref,
      turn,
      record,
      dueAt,
      recoveries: recoveries(turns),
      jobSettings: settings.of(series, record),
      lastRunAt: lastRuns.get(series) ?? null,
      turns,
      attempts,
    }
    factsOf.set(member, { series, kind: names.formByRef(form).kindRef, hasBegun: turns.some(mayHaveBegun), batch })
    return member
  })
}

/** The order in which work is taken. */
export function inOrder(a: ClaimMember, b: ClaimMember): number {
  return a.record.priority - b.record.priority || a.dueAt - b.dueAt || a.ref - b.ref
}

/** A member whose turn ends, and its claim; undefined for one that this process has not claimed so. */
export function movingOf({ claim, member }: MemberWrite): { readonly moving: Moving; readonly batch: Batch } | undefined {
  const facts = factsOf.get(member)
  if (facts?.batch.id !== claim.id) return undefined
  const { ref, record, turn, dueAt } = member
  const { series, kind, hasBegun, batch } = facts
  const granted = record.limits?.length ?? 0
  return { moving: { ref, series, kind, record, turn, dueAt, hasBegun, granted, state: 'running', line: null }, batch }
}

/** The settings of jobs: a planned instant keeps its version, enqueued work uses the version in force. */
class SettingsOfJobs {
  readonly #context: Context
  readonly #now: number
  readonly #inForce = new Map<number, ClaimMember['jobSettings']>()

  constructor(context: Context, now: number) {
    this.#context = context
    this.#now = now
  }

  of(series: number, { version, source }: OccurrenceRecord): ClaimMember['jobSettings'] {
    const versions = this.#context.versions.of(series) ?? []
    if (versions.length === 0) return null
    if (source === 'schedule' || source === 'recovery' || source === 'backfill')
      return versions.find((one) => one.version === version)?.spec.settings ?? null
    const known = this.#inForce.get(series) ?? versionAt(versions, this.#now).spec.settings
    this.#inForce.set(series, known)
    return known
  }
}
