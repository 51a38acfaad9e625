import type { OperationName } from '../../client/operation.ts'
import type { Calls } from './call.ts'
import { careCalls } from './care.ts'
import { jobCalls } from './jobs.ts'
import { occurrenceCalls } from './occurrences.ts'
import { operationCalls } from './operations.ts'
import { readCalls } from './reads.ts'

/** The operations that have no handler of the general kind: they set cookies. */
export type SessionName = 'session.open' | 'session.close'

/** How each operation is done. */
export const calls: Calls<Exclude<OperationName, SessionName>> = {
  ...readCalls,
  ...jobCalls,
  ...occurrenceCalls,
  ...operationCalls,
  ...careCalls,
}
