import type { Page } from '../query.ts'
import { gateAudit } from '../rules/audit.ts'
import { boundKeyMs, type GateDecision, hasReserved, isBound, performed } from '../rules/gate.ts'
import { decideGate, listGates, writeGate } from '../rules/sql/gate.ts'
import type { GateAnswer, GateKey, GateRecord, GateRequest, GateReserve } from '../store.ts'
import { appendAudit } from './audit.ts'
import { isOurs, runWithin } from './checkpoint/within.ts'
import { Fence } from './claim/fence.ts'
import type { Transaction } from './connection/transaction.ts'

/** The error of an effect: it is undone, and so is its key. */
export class EffectError {
  readonly thrown: unknown

  constructor(thrown: unknown) {
    this.thrown = thrown
  }
}

export function gate(tx: Transaction, request: GateRequest): GateAnswer | Page<GateRecord> | EffectError {
  if (request.act === 'list') return tx.runSteps(listGates(tx.now, request))
  if (request.act === 'reserve' && request.member && !new Fence(tx).owned(request.member)) return { outcome: 'lost', gate: null }
  const { decision, isNew } = tx.runSteps(decideGate(tx.now, request))
  const done = hasReserved(request, decision.answer) ? perform(tx, request, decision) : decision
  if (done instanceof EffectError) return done
  tx.runSteps(writeGate(request, done, isNew))
  if (request.act === 'resolve') appendAudit(tx, gateAudit(request.audit, request.to !== null, done.answer))
  return done.answer
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

const ofKey = 'tenant = ? AND scope = ? AND key = ?'

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
