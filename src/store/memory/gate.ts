import type { Page } from '../query.ts'
import { gateAudit } from '../rules/audit.ts'
import { boundKeyMs, GatePage, gateRule, hasReserved, isBound, type KnownGate } from '../rules/gate.ts'
import { having } from '../rules/having.ts'
import type { GateAnswer, GateKey, GateList, GateRecord, GateRequest, MemberWrite } from '../store.ts'
import { appendAudit } from './audit.ts'
import { owned } from './checkpoint.ts'
import type { State } from './state.ts'

/** A key, and the turn that reserved it. */
export interface GateEntry extends Omit<KnownGate, 'isTurnOpen'> {
  readonly member: MemberWrite | null
}

export function gate(state: State, request: GateRequest): GateAnswer | Page<GateRecord> {
  if (request.act === 'list') return listGates(state, request)
  const member = request.act === 'reserve' ? request.member : null
  if (member && !owned(state, member)) return { outcome: 'lost', gate: null }
  const id = gateId(request)
  const entry = state.gates.get(id)
  const { answer, write } = gateRule(entry ? knownGate(state, entry) : null, request, state.now)
  if (write === 'delete') state.gates.delete(id)
  else if (write) state.gates.set(id, { ...write, member: hasReserved(request, answer) ? member : (entry?.member ?? null) })
  if (request.act === 'resolve') appendAudit(state, gateAudit(request.audit, request.to !== null, answer))
  return answer
}

/** Outcomes past their time are forgotten. */
export function forgetGates(state: State): void {
  for (const [id, entry] of state.gates) {
    const { record } = entry
    if (record.expiresAt === null || record.expiresAt > state.now) continue
    const isKept = isBound(record) && state.byId.has(record.scope)
    if (isKept) state.gates.set(id, { ...entry, record: { ...record, expiresAt: state.now + boundKeyMs } })
    else state.gates.delete(id)
  }
}

function knownGate(state: State, { member, ...known }: GateEntry): KnownGate {
  return { ...known, isTurnOpen: member === null || owned(state, member) !== null }
}

function listGates(state: State, list: GateList): Page<GateRecord> {
  const { tenant, scope, key } = list
  const isAsked = having({ tenant, scope, key })
  const gates = new GatePage(list)
  const { after } = gates
  const found = [...state.gates.values()]
    .filter(({ record }) => isAsked(record) && (after === null || byKey(record, after) > 0))
    .sort((a, b) => byKey(a.record, b.record))
    .map((entry) => knownGate(state, entry))
  return (gates.add(found, state.now) ?? gates.add([], state.now)) as Page<GateRecord>
}

function byKey(a: GateKey, b: GateKey): number {
  for (const field of ['tenant', 'scope', 'key'] as const) if (a[field] !== b[field]) return a[field] < b[field] ? -1 : 1
  return 0
}

function gateId({ tenant, scope, key }: GateKey): string {
  return JSON.stringify([tenant, scope, key])
}
