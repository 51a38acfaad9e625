import { PunctualError } from '../errors.ts'
import type { OccurrenceState } from '../model/lifecycle.ts'
import type { UniqueKind } from '../model/occurrence.ts'

/** Which occurrences to list; the newest created come first. */
export interface OccurrenceFilter {
  readonly tenant?: string
  readonly job?: string
  readonly states?: readonly OccurrenceState[]
  readonly key?: string
  /** Keeps `key` to keys of this kind. */
  readonly unique?: UniqueKind
  readonly entity?: string
  /** Created by a handler of the occurrence with this id. */
  readonly parent?: string
  /** Dead work that died of this cause, see `causeOf`. With it, `states` is not looked at. */
  readonly cause?: string
  /** First due at or after this instant. */
  readonly from?: number
  /** First due before this instant. */
  readonly to?: number
  /** At most 500. */
  readonly limit: number
  /** From the page before. */
  readonly cursor?: string
}

/** One page of a list. */
export interface Page<Item> {
  readonly items: readonly Item[]
  /** Asks for the page after this one; null at the end. */
  readonly cursor: string | null
}

/** A place in a list ordered by the store's surrogate: opaque to callers, safe against tampering by being checked. */
export function encodeCursor(ref: number): string {
  return Buffer.from(`r${ref}`).toString('base64url')
}

export function decodeCursor(cursor: string): number {
  const [, digits] = /^r(\d{1,16})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  if (digits === undefined || encodeCursor(Number(digits)) !== cursor)
    throw new PunctualError('option.invalid', 'cursor must be one that a list has returned', { field: 'cursor' })
  return Number(digits)
}
