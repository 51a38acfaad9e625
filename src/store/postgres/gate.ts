import type { Page } from '../query.ts'
import { gateAudit } from '../rules/audit.ts'
import { type GateDecision, GatePage, gateRule, hasReserved, type KnownGate, performed } from '../rules/gate.ts'
import { askedGates, type GateRow, gateColumns, gateOfRow, gateValues } from '../rules/sql/gate-row.ts'
import type { GateAnswer, GateList, GateRecord, GateRequest, GateReserve, GateWrite, MemberWrite } from '../store.ts'
import { appendAudit } from './audit.ts'
import { runWithin, statementMs } from './checkpoint.ts'
import { fencesOf, shareClaims } from './claim/fence.ts'
import { endOf, lacks } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Context, readNow, storeNow } from './context.ts'

export async function gate(context: Context, request: GateRequest): Promise<GateAnswer | Page<GateRecord>> {
  if (request.act === 'list') return listGates(context, request)
  if (request.act === 'reserve' && request.within) return perform(context, request, request.within)
  return context.db.transaction(async (session) => {
    if (request.act === 'reserve' && !(await isOwned(session, request.member))) return lost
    const { answer } = await act(session, context, request)
    if (request.act === 'resolve') await appendAudit(session, context, [gateAudit(request.audit, request.to !== null, answer)])
    return answer
  })
}

const lost: GateAnswer = { outcome: 'lost', gate: null }

/**
 * The effect and its key in one commit. The key is inserted before the effect runs, so a second call of the same key waits for the
 * commit of the first; the claim is locked only after it, as in a checkpoint.
 */
async function perform(context: Context, request: GateReserve, within: NonNullable<GateReserve['within']>): Promise<GateAnswer> {
  return context.db.work(
    async (means) => {
      const { session } = means
      if (request.member && !(await holds(session, request.member))) return lost
      const { answer, now } = await act(session, context, request)
      const { gate: record } = answer
      if (!record || !hasReserved(request, answer)) return answer
      const done = performed(record, request, await runWithin(means, within), now)
      if (!(await isOwned(session, request.member))) return lost
      await write(session, request, done, false)
      return done.answer
    },
    { isHandlers: true, statementMs, isKept: ({ outcome }) => outcome !== 'lost' },
  )
}

async function isOwned(session: Session, member: MemberWrite | null): Promise<boolean> {
  if (!member) return true
  await shareClaims(session, [member])
  return holds(session, member)
}

async function holds(session: Session, member: MemberWrite): Promise<boolean> {
  const [fence] = await fencesOf(session, [member])
  return fence?.is_owned === true
}

/** Whether the turn that reserved a key goes on. */
const isTurnOpen = `(g.claim IS NULL OR ((SELECT true FROM punctual.claim c WHERE c.id = g.claim
    AND c.turns[array_position(c.refs, g.ref)] = g.turn) IS NOT NULL AND ${lacks('turn', endOf('g'))}))`

interface SelectedRow extends GateRow {
  readonly is_turn_open: boolean
  /** The store's time. */
  readonly now: number
}

const select = `SELECT ${gateColumns}, ${isTurnOpen} AS is_turn_open, ${storeNow} AS now FROM punctual.gate g`
const selectLocked = `${select} WHERE tenant = $2 AND scope = $3 AND key = $4 FOR UPDATE OF g`

/** Applies the rule and writes its decision. A key that another call has reserved meanwhile is looked at again. */
async function act(
  session: Session,
  context: Context,
  request: GateWrite,
): Promise<{ readonly answer: GateAnswer; readonly now: number }> {
  for (;;) {
    const { decision, now, isNew } = await decide(session, context, request)
    if (await write(session, request, decision, isNew)) return { answer: decision.answer, now }
  }
}

/** Reads the row under its lock and applies the rule. */
async function decide(
  session: Session,
  context: Context,
  request: GateWrite,
): Promise<{ readonly decision: GateDecision; readonly now: number; readonly isNew: boolean }> {
  const { tenant, scope, key } = request
  const [row] = await session.rows<SelectedRow>(selectLocked, [context.now(), tenant, scope, key])
  if (row) return { decision: gateRule(knownGate(row), request, row.now), now: row.now, isNew: false }
  const now = await readNow(session, context)
  return { decision: gateRule(null, request, now), now, isNew: true }
}

function knownGate(row: SelectedRow): KnownGate {
  return { ...gateOfRow(row), isTurnOpen: row.is_turn_open }
}

const insert = `INSERT INTO punctual.gate (${gateColumns}, claim, ref, turn)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ON CONFLICT DO NOTHING RETURNING 1`
const update = `UPDATE punctual.gate SET (state, fingerprint, occurrence, tries, hits, reserved_at, ended_at, expires_at, result, reason, holder,
  held_until) = ($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) WHERE tenant = $1 AND scope = $2 AND key = $3 RETURNING 1`
const updateTurn = update.replace('held_until) =', 'held_until, claim, ref, turn) =').replace('$15)', '$15, $16, $17, $18)')

/** False when a key that was not there has been reserved by another call meanwhile. */
async function write(
  session: Session,
  request: GateWrite,
  { answer, write: change }: GateDecision,
  isNew: boolean,
): Promise<boolean> {
  const { tenant, scope, key } = request
  if (change === null) return true
  if (change === 'delete') {
    await session.rows('DELETE FROM punctual.gate WHERE tenant = $1 AND scope = $2 AND key = $3', [tenant, scope, key])
    return true
  }
  const values = gateValues(change)
  const isReserved = hasReserved(request, answer)
  const member = isReserved ? request.member : null
  const withTurn = [...values, member?.claim.id ?? null, member?.member.ref ?? null, member?.member.turn ?? null]
  // A row that was there is locked; one that was not may be there by now, and must not be overwritten.
  if (isNew) return (await session.rows(insert, withTurn)).length > 0
  await (isReserved ? session.rows(updateTurn, withTurn) : session.rows(update, values))
  return true
}

/** Pages by key. Few keys are not done, and only they need a look at their turn. */
async function listGates(context: Context, list: GateList): Promise<Page<GateRecord>> {
  const gates = new GatePage(list)
  for (;;) {
    const { where, values } = askedGates(list, gates.after, (n) => `$${n + 3}`)
    const sql = `${select} ${where} ORDER BY tenant, scope, key LIMIT $2::int`
    const rows = await context.db.rows<SelectedRow>(sql, [context.now(), list.limit + 1, ...values])
    const page = gates.add(rows.map(knownGate), rows[0]?.now ?? 0)
    if (page) return page
  }
}
