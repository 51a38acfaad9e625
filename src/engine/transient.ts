import { PunctualError } from '../errors.ts'

/** Whether the store as a whole did not answer, so that the same call may go through later. */
export function isTransient(error: unknown): boolean {
  return error instanceof PunctualError && (error.code === 'store.unreachable' || error.code === 'store.busy')
}
