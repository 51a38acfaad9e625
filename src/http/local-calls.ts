import { stderrLogger } from '../client/logger.ts'
import { type OperationName, operation } from '../client/operation.ts'
import type { Punctual } from '../client/punctual.ts'
import { schedulerEnv } from '../client/scheduler-env.ts'
import { Access } from './access/access.ts'
import type { Caller } from './access/identity.ts'
import { Board } from './board/board.ts'
import type { Call, Desk } from './call/call.ts'
import { calls, type SessionName } from './call/calls.ts'
import { checkedParts, type Decoded } from './request/decode.ts'

/** The operations of the table in this process, without HTTP: commands on a store use it. Errors are thrown as they are. */
export class LocalCalls {
  readonly #desk: Desk
  readonly #name: string

  /** `name` is the author of changes. */
  constructor(punctual: Punctual, name: string) {
    const env = schedulerEnv(punctual)
    const access = new Access(env, {}, { basePath: '', log: stderrLogger })
    this.#desk = { punctual, env, access, board: new Board(env), label: null, isReadOnly: false }
    this.#name = name
  }

  async call(name: Exclude<OperationName, SessionName>, given: Partial<Decoded>): Promise<unknown> {
    const one = operation(name)
    const { headers, ...parts } = checkedParts(one, given)
    const call = {
      desk: this.#desk,
      caller: this.#caller(one.role === 'admin' || name === 'session.get'),
      request: new Request('http://localhost/'),
      headers: new Headers(),
      root: '',
      given: headers,
      ...parts,
    } as unknown as Call
    return (calls[name] as (call: Call) => Promise<unknown>)(call)
  }

  /** An admin, who reads payloads as an operator does: without the values that jobs redact. */
  #caller(isAdmin: boolean): Caller {
    return { name: this.#name, role: isAdmin ? 'admin' : 'operator', tenants: null, via: 'open', expiresAt: null, token: null }
  }
}
