import type { ClientEnv } from '../../client/client-env.ts'
import { PunctualError } from '../../errors.ts'
import type { Logger } from '../../model/context.ts'
import { Refusal } from '../problem.ts'
import { type Caller, type Identity, isRole } from './identity.ts'
import { checkOrigin, isForLoopback } from './origin.ts'
import { isFromProxy, type ProxyOptions, proxyIdentity } from './proxy.ts'
import { Throttle } from './throttle.ts'
import { Tokens } from './tokens.ts'

const sessionMs = 12 * 3_600_000
const badPerMinute = 60

/** How requests are authenticated. */
export interface AccessOptions {
  /** Your own users: an identity, or null for a stranger. Tokens of the store hold beside it. */
  authenticate?: ((request: Request) => Identity | null | Promise<Identity | null>) | undefined
  /** A proxy that authenticates, and shows with a secret that a request comes from it. */
  proxy?: ProxyOptions | undefined
  /** Lets everyone do everything. Requests must be sent to this machine by a loopback name. */
  open?: boolean | undefined
  /** Further origins whose pages may send requests with a cookie, such as the public name of a proxy. */
  origins?: readonly string[] | undefined
}

const local: Caller = { name: 'local', role: 'admin', tenants: null, via: 'open', expiresAt: null, token: null }

/** Decides who sends a request. */
export class Access {
  readonly tokens: Tokens
  readonly #options: AccessOptions
  readonly #env: ClientEnv
  readonly #log: Logger
  readonly #cookiePath: string
  readonly #bad = new Throttle(badPerMinute, 60_000)

  constructor(env: ClientEnv, options: AccessOptions, { basePath, log }: { basePath: string; log: Logger }) {
    this.tokens = new Tokens(env)
    this.#env = env
    this.#options = options
    this.#log = log
    this.#cookiePath = basePath || '/'
  }

  /** The sender of a request; null for a stranger. */
  async caller(request: Request): Promise<Caller | null> {
    const caller = await this.#find(request)
    // A browser adds cookies and the like to what pages of others send. It never adds a token.
    if (caller && caller.via !== 'token') checkOrigin(request, this.#options.origins ?? [])
    return caller
  }

  async #find(request: Request): Promise<Caller | null> {
    if (this.#options.open) return isForLoopback(request) ? local : misdirected()
    const { authenticate, proxy } = this.#options
    const bearer = /^Bearer +(\S{1,200})$/i.exec(request.headers.get('authorization') ?? '')?.[1]
    if (bearer?.startsWith('pt_')) return this.#byToken(bearer, 'token')
    if (authenticate) {
      const given = await authenticate(request)
      if (given) return this.#checked(given, 'host')
    }
    if (proxy && isFromProxy(request, proxy)) return this.#checked(proxyIdentity(request, proxy), 'header')
    const session = cookieOf(request, 'punctual_session')
    if (session) return this.#byToken(session, 'session')
    return null
  }

  async #byToken(text: string, via: 'token' | 'session'): Promise<Caller | null> {
    const token = await this.tokens.find(text)
    if (!token || (token.parent === null) !== (via === 'token')) return this.#refuse()
    const { name, role, tenants, expiresAt, id } = token
    return { name, role: role as Caller['role'], tenants, via, expiresAt, token: id }
  }

  /** Valid credentials always pass: only wrong ones are counted. */
  #refuse(): null {
    const waitS = this.#bad.note('all', this.#env.clock.mono())
    if (waitS === null) return null
    throw new Refusal('request.throttled', 'Too many wrong credentials; wait', {}, { 'Retry-After': String(waitS) })
  }

  #checked(identity: Identity | null, via: 'host' | 'header'): Caller | null {
    if (!identity) return null
    const { name, role, tenants = null } = identity
    const areTenants = tenants === null || (Array.isArray(tenants) && tenants.every((tenant) => typeof tenant === 'string'))
    if (typeof name === 'string' && name !== '' && isRole(role) && areTenants)
      return { name: name.slice(0, 100), role, tenants, via, expiresAt: null, token: null }
    this.#log.error('authenticate must return { name, role, tenants? } or null; the request was refused', { role: String(role) })
    return null
  }

  /** Opens a session for a token: its cookie. */
  async login(request: Request, text: string): Promise<{ caller: Caller; cookie: string }> {
    checkOrigin(request, this.#options.origins ?? [])
    const caller = await this.#byToken(text, 'token')
    if (!caller) throw new Refusal('access.required', 'There is no such token, or it has expired', {}, challenge)
    const left = caller.expiresAt === null ? sessionMs : Math.min(sessionMs, caller.expiresAt - this.#env.time.now())
    const { name, role, tenants, token } = caller
    const { token: session, secret } = await this.tokens.create({
      ...{ name, role, tenants, createdBy: name, parent: token },
      expiresInMs: left,
    })
    return {
      caller: { ...caller, via: 'session', expiresAt: session.expiresAt, token: session.id },
      cookie: this.#cookie(request, secret, Math.floor(left / 1000)),
    }
  }

  /** Ends the session of a request; the answer is a cookie that removes its own. */
  async logout(request: Request): Promise<string> {
    const session = cookieOf(request, 'punctual_session')
    const token = session === null ? null : await this.tokens.find(session)
    if (token?.parent) await this.tokens.revoke(token.id)
    return this.#cookie(request, '', 0)
  }

  #cookie(request: Request, value: string, maxAge: number): string {
    const secure = new URL(request.url).protocol === 'https:' || request.headers.get('x-forwarded-proto') === 'https'
    return `punctual_session=${value}; Path=${this.#cookiePath}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`
  }
}

export const challenge = { 'WWW-Authenticate': 'Bearer realm="punctual"' }

/** Refuses options that cannot go together. */
export function checkAccess({ authenticate, proxy, open }: AccessOptions): void {
  if (authenticate !== undefined && typeof authenticate !== 'function')
    throw new PunctualError('option.invalid', `authenticate must be a function; got ${typeof authenticate}`, {
      field: 'authenticate',
    })
  if (open === true && (authenticate || proxy))
    throw new PunctualError('option.invalid', 'open lets everyone in: leave it out, or leave out authenticate and proxy', {
      field: 'open',
    })
  if (proxy && (typeof proxy.secret !== 'string' || proxy.secret.length < 32 || /^(.)\1*$/.test(proxy.secret)))
    throw new PunctualError('option.invalid', 'proxy.secret must be a random text of at least 32 characters', {
      field: 'proxy.secret',
    })
}

function cookieOf(request: Request, name: string): string | null {
  for (const part of (request.headers.get('cookie') ?? '').slice(0, 8192).split(';')) {
    const [key, value] = part.trim().split('=', 2)
    if (key === name && value) return value
  }
  return null
}

function misdirected(): never {
  throw new Refusal('host.refused', 'This server has no authentication and answers only to localhost, 127.0.0.1 and [::1]')
}
