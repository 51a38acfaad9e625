import { z } from 'zod'
import { duration, key, name } from '../part.ts'
import { idParams, inTenant } from '../request.ts'
import { act, becauseOf, done, manage, type Operation, read } from '../row.ts'
import { newToken, nodes, roles, server, session, tenantLine, timers, token } from '../server.ts'

/** The server itself: sessions, nodes, tenants, tokens. */
export const serverOperations = {
  'session.get': { ...read, path: '/session', summary: 'Your name, your role and your rights', output: session },
  'session.open': {
    ...read,
    method: 'POST',
    role: 'anyone',
    path: '/session',
    summary: 'Log in with a token: sets a cookie',
    body: z.strictObject({ token: z.string().min(1).max(200) }),
    output: session,
  },
  'session.close': {
    ...read,
    method: 'DELETE',
    role: 'anyone',
    path: '/session',
    summary: 'Log out: ends the session of the cookie',
    output: done,
  },
  'server.get': { ...read, path: '/server', summary: 'The state of the server, its store and its nodes', output: server },
  'tenants.list': {
    ...read,
    path: '/tenants',
    summary: 'The tenants that have jobs',
    output: z.object({ items: z.array(tenantLine), capped: z.boolean() }),
  },
  'nodes.list': { ...read, path: '/nodes', summary: 'The nodes and their beats', output: nodes },
  'nodes.drain': {
    ...act,
    dangerous: true,
    path: '/nodes/{node}/drain',
    summary: 'Let a node finish its work and take no more, by its name or boot id',
    params: z.strictObject({ node: key }),
    body: becauseOf,
    output: done,
  },
  'timers.get': {
    ...read,
    path: '/timers',
    summary: 'Timers by state, messages that could not be carried out, and the state of each timer service',
    query: inTenant,
    output: timers,
  },
  'tokens.list': {
    ...read,
    role: 'admin',
    path: '/tokens',
    summary: 'The tokens, without their secrets',
    output: z.object({ items: z.array(token) }),
  },
  'tokens.create': {
    ...manage,
    path: '/tokens',
    summary: 'Create a token; its secret is shown once',
    status: 201,
    body: z.strictObject({
      name,
      role: z.enum(roles),
      tenants: z.array(name).min(1).max(100).optional(),
      expiresIn: duration.optional(),
    }),
    output: newToken,
  },
  'tokens.revoke': {
    ...manage,
    method: 'DELETE',
    path: '/tokens/{id}',
    summary: 'Revoke a token',
    params: idParams,
    output: done,
  },
} as const satisfies Readonly<Record<string, Operation>>
