// The routes of /api/v1, one for each operation of the table.
import { type Context, Hono } from 'hono'
import { type Operation, type OperationName, operation, operationNames } from '../client/operation.ts'
import { challenge } from './access/access.ts'
import { type Caller, hasRole } from './access/identity.ts'
import { Throttle } from './access/throttle.ts'
import type { Call, Desk } from './call/call.ts'
import { calls, type SessionName } from './call/calls.ts'
import { sessionOf } from './call/reads.ts'
import { plainResponse } from './plain-response.ts'
import { Refusal } from './problem.ts'
import { decoderOf } from './request/decode.ts'

/** Bounds on what one caller may send. */
export interface Limits {
  /** Bytes of a body. Default 512 kB: a payload may have 256 kB. */
  readonly bodyBytes: number
  /** Requests of one caller in a second. Default 5,000. */
  readonly requestsPerSecond: number
}

/** Reads that are sent by POST for the size of their input: the read-only switch lets them pass. */
const readingPosts: readonly OperationName[] = ['schedules.preview', 'operations.preview']

export function apiRoutes(desk: Desk, root: string, limits: Limits): Hono {
  const api = new Hono()
  const rate = new Throttle(limits.requestsPerSecond * 10, 10_000)
  const methods = new Map<string, string[]>()
  for (const name of operationNames) {
    const one = operation(name)
    const path = one.path.replaceAll(/\{(\w+)\}/g, ':$1')
    methods.set(path, [...(methods.get(path) ?? []), one.method])
    const answer = answerOf(name, one, desk, root, limits, rate)
    api.on(one.method, path, answer)
  }
  for (const [path, allowed] of methods) api.all(path, (c) => unsupported(c, allowed))
  return api
}

function unsupported(c: Context, allowed: readonly string[]): never {
  const all = allowed.includes('GET') ? [...allowed, 'HEAD'] : allowed
  throw new Refusal(
    'method.unsupported',
    `${c.req.method.slice(0, 20)} is not supported here`,
    { allowed: all },
    { Allow: all.join(', ') },
  )
}

function answerOf(name: OperationName, one: Operation, desk: Desk, root: string, { bodyBytes }: Limits, rate: Throttle) {
  const decode = decoderOf(one)
  return async (c: Context): Promise<Response> => {
    const request = c.req.raw
    const caller = one.role === 'anyone' ? null : await callerOf(desk, request)
    if (caller) {
      checkRate(rate, caller, desk.env.clock.mono())
      checkRole(name, one, caller, desk.isReadOnly)
    }
    const { params, query, headers: given, body } = await decode(request, c.req.param(), bodyBytes)
    const headers = new Headers()
    if (name === 'session.open' || name === 'session.close') return session(name, desk, request, body)
    const call = { desk, caller, request, headers, root, params, query, given, body } as unknown as Call
    const done = await (calls[name as Exclude<OperationName, SessionName>] as (call: Call) => Promise<unknown>)(call)
    if (done instanceof Response) return done
    headers.set('Content-Type', 'application/json')
    return plainResponse(JSON.stringify(done), { status: one.status ?? 200, headers })
  }
}

export async function callerOf(desk: Pick<Desk, 'access'>, request: Request): Promise<Caller> {
  const caller = await desk.access.caller(request)
  if (caller) return caller
  throw new Refusal('access.required', 'Show who you are: Authorization: Bearer with a token', {}, challenge)
}

function checkRate(rate: Throttle, { via, name, token }: Caller, now: number): void {
  const waitS = rate.note(token ?? `${via} ${name}`, now)
  if (waitS === null) return
  throw new Refusal('request.throttled', 'Too many requests; wait', {}, { 'Retry-After': String(waitS) })
}

function checkRole(name: OperationName, { role, method }: Operation, caller: Caller, isReadOnly: boolean): void {
  if (role !== 'anyone' && !hasRole(caller, role))
    throw new Refusal('access.refused', `This needs the role ${role}; yours is ${caller.role}`, {
      needed: role,
      role: caller.role,
    })
  if (isReadOnly && method !== 'GET' && !readingPosts.includes(name))
    throw new Refusal('access.read-only', 'This server is switched to reading only')
}

async function session(name: SessionName, desk: Desk, request: Request, body: unknown): Promise<Response> {
  if (name === 'session.close') {
    const cookie = await desk.access.logout(request)
    return Response.json({ outcome: 'closed' }, { headers: { 'Set-Cookie': cookie } })
  }
  const { caller, cookie } = await desk.access.login(request, (body as { token: string }).token)
  return Response.json(sessionOf({ caller, desk }), { headers: { 'Set-Cookie': cookie } })
}
