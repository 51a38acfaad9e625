import { foreignClaim, unknownNode } from '../../rules/node.ts'
import type { ClaimAnswer, ClaimRequest } from '../../store.ts'
import { unquoted } from '../connection/arrays.ts'
import { each, endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { type Context, storeNow } from '../context.ts'
import { occurrenceColumns } from '../occurrence/record.ts'
import { countRunning } from '../occurrence/running-members.ts'
import { readNextDue } from '../peek.ts'
import { type CurrentJob, currentJobs } from './current-jobs.ts'
import { describe, type MemberRow } from './members.ts'

/** Answers a claim that was made before: its members whose turns have not ended. */
export async function reclaim(context: Context, session: Session, request: ClaimRequest): Promise<ClaimAnswer> {
  const { id, token, node, clusterLimit } = request
  const [claim] = await session.rows<{ token: string; node: string; now: number; running: number }>(
    `SELECT c.token, c.node, ${storeNow} AS now, ${clusterLimit === undefined ? 'NULL' : `(${countRunning})`} AS running
      FROM punctual.claim c WHERE c.id = $2`,
    [context.now(), id],
  )
  if (!claim || claim.token !== token || claim.node !== node) throw foreignClaim({ id })
  const { now, running } = claim
  const rows = await session.rows<MemberRow>(
    `SELECT ${occurrenceColumns}, m.due_at, m.turn FROM punctual.claim c
      CROSS JOIN LATERAL unnest(c.refs, c.turns, c.dues) WITH ORDINALITY m (ref, turn, due_at, at)
      CROSS JOIN ${each('occurrence i', 'i.ref = m.ref')} o WHERE c.id = $1 AND ${lacks('turn', endOf('m'))} ORDER BY m.at`,
    [id],
  )
  const jobs = await readCurrentJobs(
    session,
    rows.map(({ series }) => series),
  )
  const members = await describe(context, session, rows, { claim: request, now, jobs, isRepeated: true })
  const isFull = clusterLimit !== undefined && running >= clusterLimit
  const nextDue = isFull ? null : await readNextDue(context, session, request.kinds, { now, isLater: request.pick !== undefined })
  return { now, members, passed: [], nextDue }
}

interface Standing {
  readonly is_known: boolean
  /** Null where there is no such claim. */
  readonly is_own: boolean | null
}

/** Refuses a claim. Verbs that claim in another statement than they write send it first, since they change nothing when they fail. */
export async function checkClaim(session: Session, { id, token, node }: ClaimRequest): Promise<void> {
  const [row] = await session.rows<Standing>(
    `SELECT EXISTS (SELECT 1 FROM punctual.node WHERE boot = $3) AS is_known,
      (SELECT c.token = $2 AND c.node = $3 FROM punctual.claim c WHERE c.id = $1) AS is_own`,
    [id, token, node],
  )
  const { is_known: isKnown, is_own: isOwn } = row as Standing
  if (isOwn === false) throw foreignClaim({ id })
  if (isOwn === null && !isKnown) throw unknownNode({ node })
}

async function readCurrentJobs(session: Session, series: readonly number[]): Promise<readonly CurrentJob[]> {
  if (series.length === 0) return []
  const [row] = await session.rows<{ jobs: readonly CurrentJob[] }>(selectCurrentJobs, [unquoted([...new Set(series)])])
  return row?.jobs ?? []
}

const selectCurrentJobs = `SELECT ${currentJobs('SELECT unnest($1::int[]) AS series')} AS jobs`
