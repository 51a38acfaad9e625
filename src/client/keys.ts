// The two kinds of keys. The store has one column for both, and `unique` for the kind.
import { PunctualError } from '../errors.ts'
import { checkKey } from '../model/limits.ts'
import type { UniqueKind } from '../model/occurrence.ts'

/** The caller's own name for work. At most one of the two may be given, each of at most 200 characters. */
export interface KeyOptions {
  /** One live occurrence of the job has it: pending, waiting, running or retrying. It is free again when that occurrence ends. */
  key?: string
  /** As `key`, but remembered after the end for `keyRetention`: a second `enqueue` returns the first occurrence. */
  idempotencyKey?: string
}

/** A key and its kind, as stores have it. */
export interface StoredKey {
  readonly key: string | null
  readonly unique: UniqueKind
}

/** One of the two is null: the field with the key tells its kind. */
export interface KeyView {
  readonly key: string | null
  readonly idempotencyKey: string | null
}

const noKey: StoredKey = { key: null, unique: 'ever' }

export function storedKey({ key, idempotencyKey }: KeyOptions): StoredKey {
  if (key !== undefined && idempotencyKey !== undefined)
    throw new PunctualError(
      'option.invalid',
      'key and idempotencyKey exclude each other: key is free again when the work ends, idempotencyKey is remembered after it',
      { field: 'key' },
    )
  if (key !== undefined) return { key: checkKey(key, 'key'), unique: 'live' }
  return idempotencyKey === undefined ? noKey : { key: checkKey(idempotencyKey, 'idempotencyKey'), unique: 'ever' }
}

export function keyView({ key, unique }: StoredKey): KeyView {
  return unique === 'live' ? { key, idempotencyKey: null } : { key: null, idempotencyKey: key }
}
