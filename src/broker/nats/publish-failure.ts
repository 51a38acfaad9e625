import { JetStreamApiError } from '@nats-io/jetstream'
import { PunctualError } from '../../errors.ts'
import type { PublishFailure, PublishResult } from '../broker.ts'

/** The result of a publish that threw. */
export function publishFailure(error: unknown): PublishResult {
  const message = error instanceof Error ? error.message : String(error)
  return { ok: false, reason: reasonOf(error, message), message }
}

function reasonOf(error: unknown, message: string): PublishFailure {
  if (error instanceof PunctualError) return error.code === 'broker.unreachable' ? 'unreachable' : 'refused'
  // A stream may take less than the server.
  if (/max.?payload|message size exceeds/i.test(message)) return 'too-large'
  if (error instanceof JetStreamApiError && /maximum|exceeded|insufficient|no space/i.test(message)) return 'full'
  if (error instanceof Error && error.name === 'PermissionViolationError') return 'refused'
  return 'unreachable'
}
