import type { Page } from '../query.ts'
import { gateAudit } from '../rules/audit.ts'
import {
  boundKeyMs,
  type GateDecision,
  GatePage,
  gateRule,
  hasReserved,
  isBound,
  type KnownGate,
  performed,
} from '../rules/gate.ts'
import { askedGates, type GateRow, gateColumns, gateOfRow, gateValues } from '../rules/sql/gate-row.ts'
import type { GateAnswer, GateKey, GateList, GateRecord, GateRequest, GateReserve, GateWrite } from '../store.ts'
import { appendAudit } from './audit.ts'
import { isOurs, runWithin } from './checkpoint/within.ts'
import { isUnended } from './claim/claim-row.ts'
import { Fence } from './claim/fence.ts'
import type { Transaction } from './connection/transaction.ts'

/** The turn that reserved a key. */
interface Turn {
  readonly claim: string
  readonly series: number
  readonly ref: number
  readonly turn: number
}

type StoredRow = GateRow & { readonly [Field in keyof Turn]: Turn[Field] | null }

const columns = `${gateColumns}, claim, series, ref, turn`

const ofKey = 'tenant = ? AND scope = ? AND key = ?'

/** The error of an effect: it is undone, and so is its key. */
export class EffectError {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    this.thrown = thrown
  }
}

export function gate(tx: Transaction, request: GateRequest): GateAnswer | Page<GateRecord> | EffectError {
  if (request.act === 'list') return listGates(tx, request)
  const turn = request.act === 'reserve' ? turnOf(tx, request) : null
  if (turn === 'lost') return { outcome: 'lost', gate: null }
  const { tenant, scope, key } = request
  const select = `SELECT ${columns} FROM punctual_gate WHERE ${ofKey}`
  const row = tx.one<StoredRow>(select, tenant, scope, key)
  const decision = gateRule(row ? knownGate(tx, row) : null, request, tx.now)
  const isNew = hasReserved(request, decision.answer)
  const done = isNew ? perform(tx, request, decision) : decision
  if (done instanceof EffectError) return done
  write(tx, request, done, isNew || row?.claim == null ? turn : (row as unknown as Turn))
  if (request.act === 'resolve') appendAudit(tx, gateAudit(request.audit, request.to !== null, done.answer))
  return done.answer
}

/** Outcomes past their time are forgotten. */
export function forgetGates(tx: Transaction, limit: number): void {
  const select = 'SELECT tenant, scope, key, occurrence FROM punctual_gate WHERE expires_at <= ? ORDER BY expires_at LIMIT ? + 0'
  for (const gate of tx.all<GateKey & { readonly occurrence: string | null }>(select, tx.now, limit)) {
    const key = [gate.tenant, gate.scope, gate.key]
    if (isBound(gate) && tx.refs.find(gate.scope) !== null)
      tx.run(`UPDATE punctual_gate SET expires_at = ? WHERE ${ofKey}`, tx.now + boundKeyMs, ...key)
    else tx.run(`DELETE FROM punctual_gate WHERE ${ofKey}`, ...key)
  }
}

function turnOf(tx: Transaction, { member }: GateReserve): Turn | 'lost' | null {
  if (!member) return null
  const entry = new Fence(tx).owned(member)
  if (!entry) return 'lost'
  const { series, ref, turn } = entry
  return { claim: member.claim.id, series, ref, turn }
}

/** Runs the effect where the key is free for it. */
function perform(tx: Transaction, request: GateReserve, decision: GateDecision): GateDecision | EffectError {
  const { gate: record } = decision.answer
  if (!request.within || !record) return decision
  const { db } = tx.connection
  try {
    return performed(record, request, runWithin(db, request.within), tx.now)
  } catch (error) {
    if (!isOurs(db)) throw error
    return new EffectError(error)
  }
}

function write(tx: Transaction, { tenant, scope, key }: GateWrite, { write: change }: GateDecision, turn: Turn | null): void {
  if (change === null) return
  if (change === 'delete') {
    tx.run(`DELETE FROM punctual_gate WHERE ${ofKey}`, tenant, scope, key)
    return
  }
  const values = [...gateValues(change), turn?.claim ?? null, turn?.series ?? null, turn?.ref ?? null, turn?.turn ?? null]
  tx.run(`INSERT OR REPLACE INTO punctual_gate (${columns}) VALUES (?${', ?'.repeat(values.length - 1)})`, ...values)
}

function knownGate(tx: Transaction, row: StoredRow): KnownGate {
  return { ...gateOfRow(row), isTurnOpen: row.claim === null || isTurnOpen(tx, row as unknown as Turn) }
}

function isTurnOpen(tx: Transaction, turn: Turn): boolean {
  return tx.one('SELECT 1 FROM punctual_claim WHERE id = ?', turn.claim) !== undefined && isUnended(tx, turn)
}

/** Pages by key. Reservations are few, and only they need a look at their turn. */
function listGates(tx: Transaction, list: GateList): Page<GateRecord> {
  const gates = new GatePage(list)
  for (;;) {
    const { where, values } = askedGates(list, gates.after, () => '?')
    const select = `SELECT ${columns} FROM punctual_gate ${where} ORDER BY tenant, scope, key LIMIT ? + 0`
    const rows = tx.all<StoredRow>(select, ...values, list.limit + 1)
    const page = gates.add(
      rows.map((row) => knownGate(tx, row)),
      tx.now,
    )
    if (page) return page
  }
}
