import { defaultPromptMs } from '../../rules/door.ts'
import type { ClaimRequest } from '../../store.ts'
import { column } from '../connection/arrays.ts'
import type { Statement } from '../connection/session.ts'
import type { Context } from '../context.ts'

/** Only the holder of this lock grants keys, and changes which kinds are served. It is taken before any other. */
export const lockDoor = 'SELECT one FROM punctual.door FOR UPDATE'

const takeAtDoor = `SELECT * FROM punctual.claim_1($1::float8, $2::text, $3::text, $4::text, $5::int, $6::float8, $7::int[], $8::int, $9::float8,
  $10::text[], $11::boolean, $12::bigint[])`

/** Additions to a claim at the door. */
interface DoorClaim {
  /** Keys that ends in the same transaction, which fails with the claim, have freed: one for each slot. */
  readonly freedKeys?: readonly string[]
  /** Takes these rather than the first that are due. */
  readonly chosen?: readonly number[]
}

/** Lets in what may come in, and takes due work. */
export function doorClaim(context: Context, request: ClaimRequest, { freedKeys, chosen }: DoorClaim = {}): Statement {
  const { id, token, node, limit, dueBy, clusterLimit, promptMs = defaultPromptMs } = request
  const kinds = column(context.names.kindRefs(request.kinds))
  const values = [context.now(), id, token, node, limit, dueBy ?? null, kinds, clusterLimit ?? null, promptMs]
  const more = [column(freedKeys ?? []), freedKeys !== undefined, chosen ? column(chosen) : null]
  return { sql: takeAtDoor, values: [...values, ...more] }
}
