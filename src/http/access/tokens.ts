import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { auditNote } from '../../client/audit-note.ts'
import type { ClientEnv } from '../../client/client-env.ts'
import type { Role } from '../../client/operation/server.ts'
import { systemActor } from '../../model/audit.ts'
import { checkName } from '../../model/limits.ts'
import type { TokenRecord } from '../../store/store.ts'
import { isRole } from './identity.ts'

/** How long a token that was read is taken for valid without another look. */
const keptForMs = 1000
const mostKept = 1000
const form = /^pt_([\w-]{16})_([\w-]{43})$/

export interface NewToken {
  readonly name: string
  readonly role: Role
  readonly tenants: readonly string[] | null
  readonly expiresInMs: number | null
  readonly createdBy: string | null
  /** Of a browser session. */
  readonly parent?: string | null
}

/** The tokens of a store. Of a secret only its hash is kept: it is random, so a fast hash is enough. */
export class Tokens {
  readonly #env: ClientEnv
  readonly #kept = new Map<string, { readonly at: number; readonly found: Promise<TokenRecord | null> }>()

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async create({
    name,
    role,
    tenants,
    expiresInMs,
    createdBy,
    parent = null,
  }: NewToken): Promise<{ token: TokenRecord; secret: string }> {
    const id = randomBytes(12).toString('base64url')
    const secret = randomBytes(32).toString('base64url')
    const createdAt = Math.floor(this.#env.time.now())
    const token = {
      id,
      name: checkName(name, 'name'),
      role,
      tenants: tenants === null ? null : tenants.map((tenant) => checkName(tenant, 'tenants')),
      hash: hashOf(secret),
      parent,
      createdAt,
      createdBy,
      expiresAt: expiresInMs === null ? null : createdAt + expiresInMs,
    }
    // A browser session is no separate act.
    const audit = parent === null && auditNote(this.#env, 'create-token', { by: createdBy ?? systemActor })
    await this.#env.store.tokens({ put: token, ...(audit && { audit }) })
    return { token, secret: `pt_${id}_${secret}` }
  }

  async list(): Promise<readonly TokenRecord[]> {
    return this.#env.store.tokens({ find: {} })
  }

  /** @param by Left out where a browser session ends. */
  async revoke(id: string, by?: string): Promise<boolean> {
    this.#kept.clear()
    const audit = by !== undefined && auditNote(this.#env, 'revoke-token', { by })
    return (await this.#env.store.tokens({ drop: id, ...(audit && { audit }) })).length > 0
  }

  /** The token of a secret; null when there is none, or it is revoked or expired. */
  async find(text: string): Promise<TokenRecord | null> {
    const [, id, secret] = form.exec(text) ?? []
    if (id === undefined || secret === undefined) return null
    const token = await this.#read(id)
    // The same work for an unknown id as for a wrong secret.
    const isRight = timingSafeEqual(Buffer.from(hashOf(secret)), Buffer.from(token?.hash ?? hashOf('')))
    if (!token || !isRight || !isRole(token.role)) return null
    if (token.expiresAt !== null && token.expiresAt <= this.#env.time.now()) return null
    if (token.parent !== null && !(await this.#read(token.parent))) return null
    return token
  }

  #read(id: string): Promise<TokenRecord | null> {
    const now = this.#env.clock.mono()
    const kept = this.#kept.get(id)
    if (kept && now - kept.at < keptForMs) return kept.found
    if (this.#kept.size >= mostKept) this.#kept.clear()
    const found = this.#env.store.tokens({ find: { id } }).then(([token]) => token ?? null)
    found.catch(() => this.#kept.delete(id))
    this.#kept.set(id, { at: now, found })
    return found
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
