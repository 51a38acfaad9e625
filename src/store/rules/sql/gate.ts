import type { Page } from '../../query.ts'
import type { GateAnswer, GateKey, GateList, GateRecord, GateState, GateWrite, MemberWrite } from '../../store.ts'
import { type GateDecision, GatePage, gateRule, hasReserved, type KnownGate } from '../gate.ts'
import { whereOf } from './conditions.ts'
import { type Clock, marks, readNow, rows, type Steps, storeNow } from './steps.ts'

const columns = `tenant, scope, key, state, fingerprint, occurrence, tries, hits, reserved_at, ended_at, expires_at, result, reason, holder,
  held_until`

/** A key, whether the turn that reserved it goes on, and the store's time. */
interface GateRow extends GateKey {
  readonly state: GateState
  readonly fingerprint: string | null
  readonly occurrence: string | null
  readonly tries: number
  readonly hits: number
  readonly reserved_at: number
  readonly ended_at: number | null
  readonly expires_at: number | null
  readonly result: string | null
  readonly reason: string | null
  readonly holder: string
  readonly held_until: number
  /** Not null while it does. */
  readonly open_turn: unknown
  readonly now: number
}

function knownGate(row: GateRow): KnownGate {
  const { tenant, scope, key, state, fingerprint, occurrence, tries, hits, result, reason } = row
  const record: GateRecord = {
    ...{ tenant, scope, key, state, fingerprint, occurrence, tries, hits, result, reason },
    ...{ reservedAt: row.reserved_at, endedAt: row.ended_at, expiresAt: row.expires_at },
  }
  return { record, holder: row.holder, heldUntil: row.held_until, isTurnOpen: row.open_turn !== null }
}

// Of its claim and end row each is looked up by itself, whatever the planner thinks of the tables.
const openTurn = `CASE WHEN g.claim IS NULL THEN 1 ELSE (SELECT 1 FROM punctual.claim c WHERE c.id = g.claim
    AND (SELECT 1 FROM punctual.occurrence o WHERE o.ref = g.ref AND (
      SELECT 1 FROM punctual.turn t WHERE t.series = o.series AND t.ref = g.ref AND t.turn = g.turn) IS NULL) IS NOT NULL) END`
const select = `SELECT ${columns}, ${openTurn} AS open_turn, ${storeNow} AS now FROM punctual.gate g`
const selectLocked = `${select} WHERE tenant = $2 AND scope = $3 AND key = $4 FOR UPDATE OF g`

interface Decided {
  readonly decision: GateDecision
  readonly now: number
  readonly isNew: boolean
}

/** Reads the key under its lock and applies the rule. */
export function* decideGate(clock: Clock, request: GateWrite): Steps<Decided> {
  const { tenant, scope, key } = request
  const [row] = yield* rows<GateRow>(selectLocked, [clock, tenant, scope, key])
  const now = row?.now ?? (yield* readNow(clock))
  return { decision: gateRule(row ? knownGate(row) : null, request, now), now, isNew: row === undefined }
}

/** Decides and writes. A key that another call has reserved meanwhile is looked at again. */
export function* actOnGate(clock: Clock, request: GateWrite): Steps<{ readonly answer: GateAnswer; readonly now: number }> {
  for (;;) {
    const { decision, now, isNew } = yield* decideGate(clock, request)
    if (yield* writeGate(request, decision, isNew)) return { answer: decision.answer, now }
  }
}

const own = `${columns}, claim, ref, turn`
const insert = `INSERT INTO punctual.gate (${own}) VALUES (${marks(18)}) ON CONFLICT DO NOTHING RETURNING key`
const update = `UPDATE punctual.gate SET (state, fingerprint, occurrence, tries, hits, reserved_at, ended_at, expires_at, result, reason, holder,
  held_until) = ($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) WHERE tenant = $1 AND scope = $2 AND key = $3`
const updateTurn = update.replace('held_until) =', 'held_until, claim, ref, turn) =').replace('$15)', '$15, $16, $17, $18)')

/** False when a key that was not there has been reserved by another call meanwhile. */
export function* writeGate(request: GateWrite, { answer, write }: GateDecision, isNew: boolean): Steps<boolean> {
  const { tenant, scope, key } = request
  if (write === null) return true
  if (write === 'delete') {
    yield* rows('DELETE FROM punctual.gate WHERE tenant = $1 AND scope = $2 AND key = $3', [tenant, scope, key])
    return true
  }
  const values = gateValues(write)
  const isReserved = hasReserved(request, answer)
  const withTurn = [...values, ...turnOf(isReserved ? request.member : null)]
  // A row that was there is locked; one that was not may be there by now, and must not be overwritten.
  if (isNew) return (yield* rows(insert, withTurn)).length > 0
  yield* isReserved ? rows(updateTurn, withTurn) : rows(update, values)
  return true
}

/** In the order of the columns. */
function gateValues({ record, holder, heldUntil }: Omit<KnownGate, 'isTurnOpen'>): (string | number | null)[] {
  const { tenant, scope, key, state, fingerprint, occurrence, tries, hits, reservedAt, endedAt, expiresAt, result, reason } =
    record
  const shared = [tenant, scope, key, state, fingerprint, occurrence, tries, hits]
  return [...shared, reservedAt, endedAt, expiresAt, result, reason, holder, heldUntil]
}

function turnOf(write: MemberWrite | null): (string | number | null)[] {
  return write ? [write.claim.id, write.member.ref, write.member.turn] : [null, null, null]
}

/** Pages by key. Few keys are not done, and only they need a look at their turn. */
export function* listGates(clock: Clock, list: GateList): Steps<Page<GateRecord>> {
  const gates = new GatePage(list)
  const { tenant, scope, key, state } = list
  // Of those that are not done, `GatePage` chooses.
  const isDone = state && (state === 'done' ? "state = 'done'" : "state <> 'done'")
  for (;;) {
    const { after } = gates
    const { where, values } = whereOf(
      [
        ['tenant = ?', tenant],
        ['scope = ?', scope],
        ['key = ?', key],
        [isDone ?? '', isDone && []],
        ['(tenant, scope, key) > (?, ?, ?)', after ? [after.tenant, after.scope, after.key] : undefined],
      ],
      3,
    )
    const sql = `${select} WHERE ${where} ORDER BY tenant, scope, key LIMIT $2::int + 0`
    const found = yield* rows<GateRow>(sql, [clock, list.limit + 1, ...values])
    const page = gates.add(found.map(knownGate), found[0]?.now ?? 0)
    if (page) return page
  }
}
