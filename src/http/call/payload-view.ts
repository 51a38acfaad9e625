import type { Occurrence } from '../../client/occurrence-view.ts'
import { Redactor, redacted } from '../../model/redaction.ts'
import { hasRole } from '../access/identity.ts'
import type { Call } from './call.ts'

/** The parts of an occurrence that a caller may read: viewers none, operators what the job does not redact, admins all. */
export interface PayloadView {
  readonly payload: unknown
  readonly redacted: string[]
  /** A result, without the values that are hidden in the payload. */
  result(value: unknown): unknown
}

export function payloadView({ caller }: Pick<Call, 'caller'>, one: Pick<Occurrence, 'payload' | 'redact'>): PayloadView {
  if (!hasRole(caller, 'operator')) return { payload: null, redacted: ['$'], result: () => null }
  const paths = hasRole(caller, 'admin') ? [] : one.redact
  const redactor = new Redactor(paths, [one.payload])
  return {
    payload: redacted(one.payload, paths) ?? null,
    redacted: [...paths],
    result: (value) => redactor.value(value) ?? null,
  }
}
