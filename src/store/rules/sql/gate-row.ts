import type { GateRecord, GateState } from '../../store.ts'
import type { KnownGate } from '../gate.ts'

export interface GateRow {
  readonly tenant: string
  readonly scope: string
  readonly key: string
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
}

export function gateOfRow(row: GateRow): Omit<KnownGate, 'isTurnOpen'> {
  const { tenant, scope, key, state, fingerprint, occurrence, tries, hits, result, reason } = row
  const record: GateRecord = {
    ...{ tenant, scope, key, state, fingerprint, occurrence, tries, hits, result, reason },
    ...{ reservedAt: row.reserved_at, endedAt: row.ended_at, expiresAt: row.expires_at },
  }
  return { record, holder: row.holder, heldUntil: row.held_until }
}
