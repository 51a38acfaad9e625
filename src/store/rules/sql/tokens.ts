import type { TokenRecord, TokenRequest } from '../../store.ts'
import { tokenAudit } from '../audit.ts'
import { appendAudit } from './audit.ts'
import { type Clock, marks, rows, type Steps, storeNow } from './steps.ts'

interface TokenRow {
  readonly id: string
  readonly name: string
  readonly role: string
  /** JSON. */
  readonly tenants: string | null
  readonly hash: string
  readonly parent: string | null
  readonly created_at: number
  readonly created_by: string | null
  readonly expires_at: number | null
}

const columns = 'id, name, role, tenants, hash, parent, created_at, created_by, expires_at'

function tokenRecord({
  tenants,
  created_at: createdAt,
  created_by: createdBy,
  expires_at: expiresAt,
  ...row
}: TokenRow): TokenRecord {
  return { ...row, tenants: tenants === null ? null : (JSON.parse(tenants) as string[]), createdAt, createdBy, expiresAt }
}

export function* tokens(clock: Clock, request: TokenRequest): Steps<readonly TokenRecord[]> {
  if ('find' in request) return yield* readTokens(clock, request.find)
  const { audit } = request
  if ('drop' in request) {
    const dropped = yield* deleteToken(request.drop)
    yield* appendAudit(
      clock,
      dropped.map((token) => tokenAudit(audit, token, false)),
    )
    return dropped
  }
  if (yield* putToken(request.put)) yield* appendAudit(clock, [tokenAudit(audit, request.put, true)])
  return [request.put]
}

/** Whether it is new. */
function* putToken(token: TokenRecord): Steps<boolean> {
  const { id, name, role, tenants, hash, parent, createdAt, createdBy, expiresAt } = token
  const values = [id, name, role, tenants && JSON.stringify(tenants), hash, parent, createdAt, createdBy, expiresAt]
  const insert = `INSERT INTO punctual.token (${columns}) VALUES (${marks(values.length)}) ON CONFLICT DO NOTHING RETURNING id`
  return (yield* rows(insert, values)).length > 0
}

function* readTokens(clock: Clock, { id }: { readonly id?: string }): Steps<readonly TokenRecord[]> {
  const [which, values] = id === undefined ? ['parent IS NULL', []] : ['id = $2', [id]]
  const found = yield* rows<TokenRow>(
    `SELECT ${columns} FROM punctual.token WHERE ${which} AND (expires_at IS NULL OR expires_at > ${storeNow}) ORDER BY created_at, id`,
    [clock, ...values],
  )
  return found.map(tokenRecord)
}

/** Deletes a token, with the sessions that it has opened. */
function* deleteToken(id: string): Steps<readonly TokenRecord[]> {
  const sql = `DELETE FROM punctual.token WHERE id = $1 OR parent = $1 RETURNING ${columns}`
  return (yield* rows<TokenRow>(sql, [id])).map(tokenRecord).filter((token) => token.id === id)
}

export function* dropExpiredTokens(clock: Clock): Steps<void> {
  yield* rows(`DELETE FROM punctual.token WHERE expires_at <= ${storeNow}`, [clock])
}
