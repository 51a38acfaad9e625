import * as shared from '../rules/sql/tokens.ts'
import type { TokenRecord, TokenRequest } from '../store.ts'
import { runSteps } from './connection/session.ts'
import type { Context } from './context.ts'

export async function tokens({ db, now }: Context, request: TokenRequest): Promise<readonly TokenRecord[]> {
  const steps = shared.tokens(now(), request)
  return 'find' in request ? runSteps(db, steps) : db.transaction((session) => runSteps(session, steps))
}
