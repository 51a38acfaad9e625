import type { AuditNote } from './audit.ts'

/** `put` stores a token; one with the same id stays as it is. `drop` deletes one, with the browser sessions that were opened with it. */
export type TokenRequest =
  | { readonly put: TokenRecord; readonly audit?: AuditNote }
  | { readonly drop: string; readonly audit?: AuditNote }
  | {
      /** The token of an id, or all but browser sessions, oldest first. Expired ones are left out. */
      readonly find: { readonly id?: string }
    }

/** A credential of the HTTP interface. Of its secret only a hash is stored. */
export interface TokenRecord {
  readonly id: string
  readonly name: string
  readonly role: string
  /** Null for all. */
  readonly tenants: readonly string[] | null
  /** SHA-256 of the secret, base64url. */
  readonly hash: string
  /** Of a browser session: the token that it was opened with, and it ends with that. */
  readonly parent: string | null
  readonly createdAt: number
  readonly createdBy: string | null
  readonly expiresAt: number | null
}
