import { tokenAudit } from '../rules/audit.ts'
import type { TokenRecord, TokenRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { State } from './state.ts'

export function tokens(state: State, request: TokenRequest): readonly TokenRecord[] {
  if ('find' in request) return readTokens(state, request.find)
  if ('drop' in request) {
    const dropped = deleteToken(state, { id: request.drop })
    appendAudit(state, ...dropped.map((token) => tokenAudit(request.audit, token, false)))
    return dropped
  }
  if (putToken(state, request.put)) appendAudit(state, tokenAudit(request.audit, request.put, true))
  return [request.put]
}

/** Whether it is new. */
function putToken({ tokens }: State, token: TokenRecord): boolean {
  if (tokens.has(token.id)) return false
  tokens.set(token.id, token)
  return true
}

function readTokens({ tokens, now }: State, { id }: { id?: string }): readonly TokenRecord[] {
  return [...tokens.values()].filter(
    (token) => (token.expiresAt ?? now + 1) > now && (id === undefined ? token.parent === null : token.id === id),
  )
}

function deleteToken({ tokens }: State, { id }: { id: string }): readonly TokenRecord[] {
  const known = tokens.get(id)
  for (const [session, { parent }] of tokens) if (parent === id) tokens.delete(session)
  tokens.delete(id)
  return known ? [known] : []
}

export function dropExpiredTokens({ tokens, now }: State): void {
  for (const [id, { expiresAt }] of tokens) if (expiresAt !== null && expiresAt <= now) tokens.delete(id)
}
