// The errors of keys of effects.
import { PunctualError } from '../../errors.ts'
import type { RetryHint } from '../../model/retry.ts'
import type { GateKey, GateRecord } from '../../store/store.ts'

export function conflict(key: GateKey): PunctualError {
  return new PunctualError(
    'gate.conflict',
    `Key ${shownKey(key)} belongs to an effect with another payload; use another key, or the same payload`,
    { ...key },
  )
}

export function busy(key: GateKey, gate: GateRecord | null): PunctualError {
  return new PunctualError(
    'gate.busy',
    `Another call is in the middle of the effect with key ${shownKey(key)}; try again later, or give a longer wait`,
    { ...key, occurrence: gate?.occurrence ?? null },
  )
}

/** Without a check no retry can help: a person has to decide. */
export function held(key: GateKey, gate: GateRecord | null, isChecked: boolean): PunctualError & RetryHint {
  const error = new PunctualError(
    'gate.held',
    `Nobody knows whether the effect with key ${shownKey(key)} happened; find out, and call resolveGate or "punctual gate resolve"`,
    { ...key, occurrence: gate?.occurrence ?? null, reason: gate?.reason ?? null },
  )
  return isChecked ? error : Object.assign(error, { retryable: false })
}

export function lostKey(key: GateKey): PunctualError {
  return new PunctualError(
    'gate.lost',
    `The effect with key ${shownKey(key)} has happened, but its key was taken over or resolved meanwhile; the outcome was not recorded`,
    { ...key },
  )
}

function shownKey({ tenant, scope, key }: GateKey): string {
  return `${JSON.stringify(key)} of scope ${JSON.stringify(scope)} in tenant ${JSON.stringify(tenant)}`
}
