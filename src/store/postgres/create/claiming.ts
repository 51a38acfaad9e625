// Creation and start in one statement: new rows that are due and have nothing before them go straight into a claim.
import { isPlanned } from '../../rules/verdict.ts'
import type { ClaimAnswer, ClaimRequest, NewOccurrence } from '../../store.ts'
import { type CurrentJob, currentJobs } from '../claim/current-jobs.ts'
import type { LaneStarts } from '../claim/lane-starts.ts'
import { describe, inOrder, type MemberRow } from '../claim/members.ts'
import { isDoorDue, nextWake } from '../claim/take-due.ts'
import { column } from '../connection/arrays.ts'
import type { Context } from '../context.ts'
import type { Draft } from './drafts.ts'

/** The claim that a creation may make, and where its lanes begin. */
export interface Claiming {
  readonly request: ClaimRequest
  readonly laneStarts: LaneStarts
}

/** Whether the rows of a call may go into a claim, as far as the caller can tell. */
export function mayClaim({ request }: Claiming, rows: readonly NewOccurrence[], drafts: readonly Draft[]): boolean {
  const { pick, clusterLimit, dueBy, limit, kinds } = request
  if (pick || clusterLimit !== undefined || dueBy !== undefined || rows.length > limit) return false
  const isDueNow = rows.every(({ due }) => typeof due !== 'number' && due.in <= 0)
  return (
    isDueNow &&
    drafts.every(
      ({ record, isGated }) =>
        !isGated && record.startWithinMs === null && !isPlanned(record.source) && kinds.includes(record.kind),
    )
  )
}

/** The values of the statement's part below, the first of which is number `first`. */
export function claimValues({ names }: Context, { request, laneStarts }: Claiming): (string | null)[] {
  const { id, token, node, kinds } = request
  const refs = names.kindRefs(kinds)
  return [id, token, node, column(refs), ...laneStarts.columns(refs)]
}

/** Common tables that decide whether new rows `i` are claimed at once, and what is answered then. */
export function claimText(first: number): { readonly with: string; readonly made: string; readonly select: string } {
  const [id, token, node, kinds] = ['text', 'text', 'text', 'int[]'].map((type, at) => `$${first + at}::${type}`) as [
    string,
    string,
    string,
    string,
  ]
  const laneStarts = `unnest($${first + 4}::int[], $${first + 5}::smallint[], $${first + 6}::float8[]) f (kind, priority, due_at)`
  const lane = `punctual.kind k CROSS JOIN unnest(k.priorities) p (priority) CROSS JOIN LATERAL (
      SELECT r.due_at FROM punctual.ready r WHERE NOT r.gate AND r.kind = k.ref AND r.priority = p.priority AND r.due_at >= coalesce((
        SELECT f.due_at FROM ${laneStarts} WHERE f.kind = k.ref AND f.priority = p.priority), '-infinity')
      ORDER BY r.due_at, r.ref LIMIT 1) r WHERE k.ref = ANY(${kinds})`
  return {
    with: `joined AS MATERIALIZED (SELECT boot FROM punctual.node WHERE boot = ${node} FOR KEY SHARE),
  before AS MATERIALIZED (SELECT least((SELECT min(r.due_at) FROM ${lane}), ${nextWake(kinds)}) AS next_due),
  open AS MATERIALIZED (
    SELECT g.is_current AND EXISTS (SELECT 1 FROM joined) AND NOT EXISTS (SELECT 1 FROM punctual.claim c WHERE c.id = ${id})
      AND coalesce(b.next_due > g.now, true) AND NOT ${isDoorDue('g.now', 'g.now')} AS is_open FROM g, before b),`,
    made: `made AS (
    INSERT INTO punctual.claim (id, token, node, refs, turns, dues)
    SELECT ${id}, ${token}, ${node}, array_agg(a.ref), array_agg(1), array_agg(a.due)
    FROM (SELECT i.ref, i.due FROM i, open WHERE open.is_open ORDER BY i.priority, i.due, i.ref) a HAVING count(*) > 0),`,
    select: `, (SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM joined) THEN '${refused}' WHEN is_open THEN json_build_object(
      'refs', (SELECT json_agg(n.ref ORDER BY n.at) FROM n), 'nextDue', (SELECT next_due FROM before),
      'jobs', ${currentJobs('SELECT DISTINCT series FROM n')})::text END FROM open) AS claimed`,
  }
}

/** The answer for a node that is not known: nothing was created. */
export const refused = 'refused'

interface ClaimedText {
  readonly refs: readonly number[]
  readonly nextDue: number | null
  readonly jobs: readonly CurrentJob[]
}

/** The claim that a creation has made. */
export async function claimedAnswer(
  context: Context,
  { request, laneStarts }: Claiming,
  text: string,
  { rows, drafts, now }: { rows: readonly NewOccurrence[]; drafts: readonly Draft[]; now: number },
): Promise<ClaimAnswer> {
  const { db, names } = context
  const { refs, nextDue, jobs } = JSON.parse(text) as ClaimedText
  const members = rows.map(({ id, scheduledAt, entity, parent, payload, due }, at): MemberRow => {
    const { series, form, extra } = drafts[at] as Draft
    const dueAt = typeof due === 'number' ? due : now + due.in
    return {
      ...{ ref: refs[at] as number, id, series, form: names.form(form).ref, key: null, entity, parent, extra, payload },
      ...{ scheduled_at: scheduledAt, created_at: now, due_at: dueAt, turn: 1 },
    }
  })
  laneStarts.lower(now)
  const described = await describe(context, db, members, { claim: request, now, jobs })
  return { now, members: described.sort(inOrder), passed: [], nextDue }
}
