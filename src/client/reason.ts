export const reasonCodes = [
  'ended',
  'running',
  'long-run',
  'not-due',
  'retrying',
  'retry-loop',
  'overlap',
  'concurrency',
  'rate',
  'catch-up',
  'recovery',
  'paused',
  'disabled',
  'retired',
  'no-schedule',
  'never-fires',
  'window-ahead',
  'window-over',
  'unknown-schedule',
  'no-node',
  'no-handler',
  'slots-full',
  'next-run',
  'store-unreachable',
] as const
/** The code of a reason. */
export type ReasonCode = (typeof reasonCodes)[number]

/** One reason of an explanation. */
export interface Reason {
  readonly code: ReasonCode
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

export function reason(code: ReasonCode, message: string, details: Readonly<Record<string, unknown>> = {}): Reason {
  return { code, message, details }
}
