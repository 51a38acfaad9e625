import type { z } from 'zod'
import type { ClientEnv } from '../../client/client-env.ts'
import type { OperationName, operations } from '../../client/operation.ts'
import type { Punctual } from '../../client/punctual.ts'
import type { Access } from '../access/access.ts'
import type { Caller } from '../access/identity.ts'
import type { Board } from '../board/board.ts'
import { Refusal } from '../problem.ts'
import type { WireOutput } from '../wire.ts'

type Table = typeof operations
type Part<Name extends OperationName, Field extends string> = Table[Name] extends {
  readonly [F in Field]: infer Schema extends z.ZodType
}
  ? z.output<Schema>
  : undefined

/** Values that are the same for every call. */
export interface Desk {
  readonly punctual: Punctual
  readonly env: ClientEnv
  readonly access: Access
  readonly board: Board
  readonly label: string | null
  readonly isReadOnly: boolean
}

/** One call of an operation. */
export interface Call<Name extends OperationName = OperationName> {
  readonly desk: Desk
  readonly caller: Caller
  readonly request: Request
  /** Headers of the answer. */
  readonly headers: Headers
  /** The address of the API, such as `/punctual/api/v1`. */
  readonly root: string
  readonly params: Part<Name, 'params'>
  readonly query: Part<Name, 'query'>
  readonly given: Part<Name, 'headers'>
  readonly body: Part<Name, 'body'>
}

export type Calls<Name extends OperationName = OperationName> = {
  readonly [One in Name]: (call: Call<One>) => Promise<WireOutput<One> | Response>
}

/** The tenant that a list is kept to; undefined for all. */
export function scopeOf({ caller }: Pick<Call, 'caller'>, given: string | undefined): string | undefined {
  if (caller.tenants === null) return given
  if (given !== undefined) return checkTenant({ caller }, given)
  if (caller.tenants.length === 1) return caller.tenants[0]
  throw new Refusal('request.invalid', 'Name one of your tenants', { field: 'tenant', allowed: caller.tenants })
}

/** The tenant of a job that is named. */
export function tenantOf(call: Pick<Call, 'caller'>, given: string | undefined): string {
  return scopeOf(call, given) ?? 'default'
}

/** A tenant of others is as unknown as one that is not there. */
function checkTenant({ caller }: Pick<Call, 'caller'>, tenant: string): string {
  if (caller.tenants === null || caller.tenants.includes(tenant)) return tenant
  throw new Refusal('tenant.unknown', 'There is no such tenant', { field: 'tenant' })
}

/** A tenant in a body must be one of the credential's. */
export function bodyTenant(call: Pick<Call, 'caller'>, tenant: string): string {
  if (call.caller.tenants !== null && !call.caller.tenants.includes(tenant))
    throw new Refusal('request.invalid', 'tenant must be one of yours', { field: 'tenant', allowed: call.caller.tenants })
  return checkTenant(call, tenant)
}

/** Some acts reach every tenant. */
export function checkUnbounded({ caller }: Pick<Call, 'caller'>, why: string): void {
  if (caller.tenants !== null)
    throw new Refusal('access.refused', `${why}: it takes access to all tenants`, { tenants: caller.tenants })
}

export function maySee({ caller }: Pick<Call, 'caller'>, tenant: string): boolean {
  return caller.tenants === null || caller.tenants.includes(tenant)
}

/** Without the fields that are undefined: the library takes them for given. */
export function defined<Given extends object>(given: Given): { [Name in keyof Given]: Exclude<Given[Name], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as never
}

/** The body of a call as options, with the sender's name for the audit. */
export function by<Body extends object>({ body, caller }: { readonly body: Body; readonly caller: { readonly name: string } }) {
  return defined({ ...body, by: caller.name })
}
