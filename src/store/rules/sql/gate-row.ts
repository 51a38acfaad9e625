import type { GateKey, GateList, GateRecord, GateState } from '../../store.ts'
import type { KnownGate } from '../gate.ts'
import { whereOf } from './conditions.ts'

export const gateColumns = `tenant, scope, key, state, fingerprint, occurrence, tries, hits, reserved_at, ended_at, expires_at, result, reason, holder,
  held_until`

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

type Written = Omit<KnownGate, 'isTurnOpen'>

/** In the order of the columns. */
export function gateValues({ record, holder, heldUntil }: Written): readonly (string | number | null)[] {
  const { tenant, scope, key, state, fingerprint, occurrence, tries, hits, reservedAt, endedAt, expiresAt, result, reason } =
    record
  const own = [tenant, scope, key, state, fingerprint, occurrence, tries, hits]
  return [...own, reservedAt, endedAt, expiresAt, result, reason, holder, heldUntil]
}

/** The rows of a list behind a key. Of those that are not done, `GatePage` chooses. */
export function askedGates({ tenant, scope, key, state }: GateList, after: GateKey | null, mark: (n: number) => string) {
  const isDone = state && (state === 'done' ? "state = 'done'" : "state <> 'done'")
  return whereOf(
    [
      ['tenant = ?', tenant],
      ['scope = ?', scope],
      ['key = ?', key],
      [isDone ?? '', isDone && []],
      ['(tenant, scope, key) > (?, ?, ?)', after ? [after.tenant, after.scope, after.key] : undefined],
    ],
    mark,
  )
}
