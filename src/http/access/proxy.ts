import { createHash, timingSafeEqual } from 'node:crypto'
import { type Identity, isRole } from './identity.ts'

/** Headers of a proxy that authenticates users. Without the secret they are not looked at. */
export interface ProxyOptions {
  /** At least 32 random characters, known to the proxy and this server alone. */
  secret: string
  /** The header with the secret. Default `x-punctual-proxy`. */
  secretHeader?: string
  /** The header with the user's name. Default `x-forwarded-user`. */
  userHeader?: string
  /** The header with the role. Default `x-forwarded-role`; without it the user is a viewer. */
  roleHeader?: string
  /** The header with the tenants, separated by commas. Default `x-forwarded-tenants`; without it all. */
  tenantsHeader?: string
}

export function isFromProxy(request: Request, { secret, secretHeader = 'x-punctual-proxy' }: ProxyOptions): boolean {
  const given = request.headers.get(secretHeader)
  return given !== null && timingSafeEqual(digest(given), digest(secret))
}

export function proxyIdentity(request: Request, options: ProxyOptions): Identity | null {
  const { userHeader = 'x-forwarded-user', roleHeader = 'x-forwarded-role', tenantsHeader = 'x-forwarded-tenants' } = options
  const name = request.headers.get(userHeader)
  if (!name) return null
  const role = request.headers.get(roleHeader) ?? 'viewer'
  const tenants = request.headers
    .get(tenantsHeader)
    ?.split(',')
    .map((tenant) => tenant.trim())
    .filter((tenant) => tenant !== '')
  return isRole(role) ? { name, role, tenants: tenants ?? null } : null
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
