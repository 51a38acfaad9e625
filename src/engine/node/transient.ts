import { PunctualError } from '../../errors.ts'

/** A server that refuses this user may take it again after a failover or a change of rights. */
const transient: readonly string[] = ['store.unreachable', 'store.refused', 'store.busy']

/** Whether the store as a whole did not answer: the same call may succeed later. */
export function isTransient(error: unknown): boolean {
  return error instanceof PunctualError && transient.includes(error.code)
}

const hopeless: readonly string[] = ['store.refused', 'store.newer', 'store.corrupt', 'store.unsupported', 'config.invalid']

/** Whether retrying cannot fix the error: `start` throws it. */
export function isHopeless(error: unknown): error is PunctualError {
  return error instanceof PunctualError && hopeless.includes(error.code)
}
