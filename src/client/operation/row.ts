// One row of the table of operations, and the kinds of rows.
import { z } from 'zod'
import { reason } from './part.ts'
import type { Role } from './server.ts'

type Shape = z.ZodObject<z.ZodRawShape>

/** One thing that can be done. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/api/v1`; names in braces are those of `params`. */
  readonly path: string
  readonly summary: string
  /** The least role that may call it. `anyone`: also without a credential. */
  readonly role: Role | 'anyone'
  /** Whether it writes an entry of the audit, under the name of its caller. */
  readonly audited: boolean
  /** Whether it cannot be taken back, or touches many: programs confirm it with a person. */
  readonly dangerous: boolean
  readonly params?: Shape
  readonly query?: Shape
  readonly headers?: Shape
  readonly body?: z.ZodType
  /** The status of success. Default 200. */
  readonly status?: 200 | 201 | 202 | 204
  readonly output: z.ZodType
}

export const read = { method: 'GET', role: 'viewer', audited: false, dangerous: false } as const
export const act = { method: 'POST', role: 'operator', audited: true, dangerous: false } as const
export const manage = { method: 'POST', role: 'admin', audited: true, dangerous: false } as const

export const done = z.object({ outcome: z.string() })
export const becauseOf = z.strictObject({ reason: reason.optional() })
