import type { Punctual } from '../../client/punctual.ts'
import { schedulerEnv } from '../../client/scheduler-env.ts'
import { Tokens } from './tokens.ts'

/** Creates an admin token where the store has none; its secret, or null when there is one already. */
export async function firstToken(punctual: Punctual): Promise<string | null> {
  const tokens = new Tokens(schedulerEnv(punctual))
  if ((await tokens.list()).length > 0) return null
  const { secret } = await tokens.create({ name: 'admin', role: 'admin', tenants: null, expiresInMs: null, createdBy: null })
  return secret
}
