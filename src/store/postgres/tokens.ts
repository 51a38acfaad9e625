import { tokenAudit } from '../rules/audit.ts'
import { type TokenRow, tokenColumns, tokenRecord, tokenValues } from '../rules/sql/token-row.ts'
import type { TokenRecord, TokenRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { Session } from './connection/session.ts'
import { type Context, storeNow } from './context.ts'

export async function tokens(context: Context, request: TokenRequest): Promise<readonly TokenRecord[]> {
  if ('find' in request) return readTokens(context, request.find)
  const { audit } = request
  return context.db.transaction(async (session) => {
    if ('drop' in request) {
      const dropped = await deleteToken(session, request.drop)
      const entries = dropped.map((token) => tokenAudit(audit, token, false))
      await appendAudit(session, context, entries)
      return dropped
    }
    const isNew = await putToken(session, request.put)
    if (isNew) await appendAudit(session, context, [tokenAudit(audit, request.put, true)])
    return [request.put]
  })
}

/** Whether it is new. */
async function putToken(session: Session, token: TokenRecord): Promise<boolean> {
  const rows = await session.rows(
    `INSERT INTO punctual.token (${tokenColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id`,
    tokenValues(token),
  )
  return rows.length > 0
}

async function readTokens(context: Context, { id }: { id?: string }): Promise<readonly TokenRecord[]> {
  const rows = await context.db.rows<TokenRow>(
    `SELECT ${tokenColumns} FROM punctual.token WHERE (CASE WHEN $2::text IS NULL THEN parent IS NULL ELSE id = $2 END)
      AND (expires_at IS NULL OR expires_at > ${storeNow}) ORDER BY created_at, id`,
    [context.now(), id ?? null],
  )
  return rows.map(tokenRecord)
}

async function deleteToken(session: Session, id: string): Promise<readonly TokenRecord[]> {
  const rows = await session.rows<TokenRow>(`DELETE FROM punctual.token WHERE id = $1 OR parent = $1 RETURNING ${tokenColumns}`, [
    id,
  ])
  return rows.map(tokenRecord).filter((token) => token.id === id)
}

export async function dropExpiredTokens(context: Context): Promise<void> {
  await context.db.rows(`DELETE FROM punctual.token WHERE expires_at <= ${storeNow}`, [context.now()])
}
