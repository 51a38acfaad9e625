import type { Role } from '../../client/operation/server.ts'
import { roles } from '../../client/operation/server.ts'

/** The sender of a request, with its rights. */
export interface Identity {
  /** Stands in the audit. */
  readonly name: string
  readonly role: Role
  /** The tenants it may see; null or left out for all. */
  readonly tenants?: readonly string[] | null | undefined
}

/** An identity, and how it came in. */
export interface Caller extends Identity {
  readonly via: 'open' | 'token' | 'session' | 'host' | 'header'
  readonly tenants: readonly string[] | null
  readonly expiresAt: number | null
  /** The token or session it came with. */
  readonly token: string | null
}

export function hasRole({ role }: Identity, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

export function isRole(value: unknown): value is Role {
  return roles.includes(value as Role)
}
