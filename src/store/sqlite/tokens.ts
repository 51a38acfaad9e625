import { tokenAudit } from '../rules/audit.ts'
import { type TokenRow, tokenColumns, tokenRecord, tokenValues } from '../rules/sql/token-row.ts'
import type { TokenRecord, TokenRequest } from '../store.ts'
import { appendAudit } from './audit.ts'
import type { Transaction } from './connection/transaction.ts'

export function tokens(tx: Transaction, request: TokenRequest): readonly TokenRecord[] {
  if ('find' in request) return readTokens(tx, request.find)
  if ('drop' in request) {
    const dropped = deleteToken(tx, { id: request.drop })
    appendAudit(tx, ...dropped.map((token) => tokenAudit(request.audit, token, false)))
    return dropped
  }
  if (putToken(tx, request.put)) appendAudit(tx, tokenAudit(request.audit, request.put, true))
  return [request.put]
}

/** Whether it is new. */
function putToken(tx: Transaction, token: TokenRecord): boolean {
  const insert = `INSERT OR IGNORE INTO punctual_token (${tokenColumns})
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  return tx.run(insert, ...tokenValues(token)) > 0
}

function readTokens(tx: Transaction, { id }: { id?: string }): readonly TokenRecord[] {
  const where = id === undefined ? 'parent IS NULL' : 'id = ?'
  const rows = tx.all<TokenRow>(
    `SELECT * FROM punctual_token WHERE ${where} AND (expires_at IS NULL OR expires_at > ?) ORDER BY created_at, id`,
    ...(id === undefined ? [] : [id]),
    tx.now,
  )
  return rows.map(tokenRecord)
}

function deleteToken(tx: Transaction, { id }: { id: string }): readonly TokenRecord[] {
  const known = tx.all<TokenRow>('SELECT * FROM punctual_token WHERE id = ?', id).map(tokenRecord)
  tx.run('DELETE FROM punctual_token WHERE parent = ?', id)
  tx.run('DELETE FROM punctual_token WHERE id = ?', id)
  return known
}

export function dropExpiredTokens(tx: Transaction): void {
  tx.run('DELETE FROM punctual_token WHERE expires_at <= ?', tx.now)
}
