// The client of a handler's work. It is a connection of the store with the store's transaction on it: the handler may use it
// only until its work is done, and may not end the transaction.
import type pg from 'pg'
import { PunctualError } from '../../../errors.ts'

export interface HandlerClient {
  readonly client: pg.PoolClient
  /** Refuses further statements of the handler: another transaction may be on the connection. */
  revoke(): void
}

export function handlerClient(client: pg.PoolClient, onCall: (call: Promise<unknown>) => void): HandlerClient {
  let isBack = false
  const query = (...given: unknown[]): unknown => {
    const refusal = isBack
      ? workError('has ended, and with it the use of its transaction: await all of its statements')
      : controlsTransaction(textOf(given[0]))
        ? workError('may not begin, commit or roll back: Punctual commits it with the success of the task')
        : null
    if (refusal) return refuse(refusal, given)
    const answer: unknown = Reflect.apply(client.query, client, given)
    if (answer instanceof Promise) onCall(answer)
    return answer
  }
  const kept = () => {
    throw workError('may not release or end the connection of its transaction')
  }
  const own: Readonly<Record<PropertyKey, unknown>> = { query, release: kept, end: kept, connect: kept }
  const lent = new Proxy(client, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return own[name]
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    client: lent,
    revoke() {
      isBack = true
    },
  }
}

export function workError(message: string, cause?: unknown): PunctualError {
  return new PunctualError('transaction.invalid', `The work of a transaction ${message}`, {}, { cause })
}

/** A text, a configuration, or an object that sends itself, such as a cursor. */
function textOf(query: unknown): string {
  const { text, cursor } = (typeof query === 'object' && query !== null ? query : { text: query }) as {
    text?: unknown
    cursor?: { text?: unknown }
  }
  return String(text ?? cursor?.text ?? '')
}

/** Fails as the driver does: to the callback where there is one. */
function refuse(error: PunctualError, given: readonly unknown[]): unknown {
  const callback = given.find((one) => typeof one === 'function') as ((error: unknown) => void) | undefined
  if (!callback) return Promise.reject(error)
  queueMicrotask(() => callback(error))
  return undefined
}

// Quoted texts and names, and comments: their words are no statements.
const unread = /\bE'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|\/\*[\s\S]*?\*\//gi

const control =
  /^(BEGIN|START\s+TRANSACTION|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!(\s+(WORK|TRANSACTION))?\s+TO\b))\b/i
const ownSavepoint = /^(RELEASE|ROLLBACK)\b.*\bpunctual_work\b/is

/** Whether a text, which may be several statements, begins or ends a transaction. Other savepoints are fine. */
export function controlsTransaction(text: string): boolean {
  return text
    .replace(unread, ' ')
    .split(';')
    .some((statement) => control.test(statement.trim()) || ownSavepoint.test(statement.trim()))
}
