import type { TokenRecord } from '../../store.ts'

export interface TokenRow {
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

export const tokenColumns = 'id, name, role, tenants, hash, parent, created_at, created_by, expires_at'

/** In the order of the columns. */
export function tokenValues({ id, name, role, tenants, hash, parent, createdAt, createdBy, expiresAt }: TokenRecord) {
  return [id, name, role, tenants && JSON.stringify(tenants), hash, parent, createdAt, createdBy, expiresAt]
}

export function tokenRecord(row: TokenRow): TokenRecord {
  const { id, name, role, tenants, hash, parent, created_at, created_by, expires_at } = row
  return {
    id,
    name,
    role,
    tenants: tenants === null ? null : (JSON.parse(tenants) as string[]),
    hash,
    parent,
    createdAt: created_at,
    createdBy: created_by,
    expiresAt: expires_at,
  }
}
