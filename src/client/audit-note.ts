import type { AuditAction } from '../model/audit.ts'
import { uuidV7 } from '../model/ids.ts'
import { checkNote } from '../model/limits.ts'
import type { AuditNote } from '../store/store.ts'
import type { ClientEnv } from './client-env.ts'

/** The author of a change, and the reason. The audit keeps both. */
export interface By {
  /** The person or program, of at most 200 characters. Default `api`; the command line gives the user of the machine. */
  by?: string
  reason?: string
}

/** The actor of a call that names none. */
export const defaultActor = 'api'
export const byNames = ['by', 'reason'] as const

/** The note of one act, which travels with the verb that makes the change. */
export function auditNote(
  { clock, randomBytes }: Pick<ClientEnv, 'clock' | 'randomBytes'>,
  action: AuditAction,
  { by, reason }: By,
): AuditNote {
  return {
    act: uuidV7(Math.floor(clock.wall()), randomBytes),
    actor: by === undefined ? defaultActor : checkNote(by, 'by'),
    action,
    reason: reason === undefined ? null : checkNote(reason, 'reason'),
  }
}
