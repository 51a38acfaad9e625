import type { AbortReason } from '../../model/context.ts'

const messages: Readonly<Record<AbortReason, string>> = {
  timeout: 'It took longer than its timeout',
  cancel: 'It was canceled',
  shutdown: 'This node is shutting down',
  lost: 'This node has lost its right to run it',
  'peer-failed': 'Another task of the same occurrence has failed',
}

/** The reason of `ctx.signal`, and so the error of `fetch` and others that the signal aborts. */
export class Aborted extends Error {
  override readonly name = 'AbortError'
  readonly code: AbortReason

  constructor(code: AbortReason, detail?: string | null) {
    super(`${code}: ${messages[code]}${detail ? ` (${detail})` : ''}`)
    this.code = code
  }
}
