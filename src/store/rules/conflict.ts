// Rules for a new row whose id or key is taken.
import { keyedId } from '../../model/ids.ts'
import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { CreatedRow, NewOccurrence } from '../messages/create.ts'

export interface Existing {
  readonly id: string
  readonly state: OccurrenceState
  readonly hasBegun: boolean
  readonly payload: string | null
  readonly keyVersion?: number | undefined
}

/** An occurrence as memory and SQLite hold it. */
export interface HeldOccurrence extends Pick<Existing, 'id' | 'state' | 'hasBegun'> {
  readonly record: OccurrenceRecord
}

export function existingOf({ id, state, hasBegun, record }: HeldOccurrence): Existing {
  return { id, state, hasBegun, payload: record.payload, keyVersion: record.keyVersion }
}

/** Whether an occurrence leaves its key to the next: it was canceled before it began. */
export function freesKey({ state, hasBegun }: Pick<Existing, 'state' | 'hasBegun'>): boolean {
  return state === 'canceled' && !hasBegun
}

/** Whether a request comes too late: the key was given the same or a higher version before. */
export function isOutdated(
  { keyVersion: known }: Pick<Existing, 'keyVersion'>,
  { keyVersion }: Pick<NewOccurrence, 'keyVersion'>,
): boolean {
  return keyVersion !== undefined && known !== undefined && keyVersion <= known
}

/** Whether a cancel of a version comes too late: the key was given a higher one before. */
export function isOvertaken(known: number | undefined, keyVersion: number | undefined): boolean {
  return keyVersion !== undefined && known !== undefined && keyVersion < known
}

/** The version that the existing one has after a request that is not outdated. */
function keyVersionAfter(known: number | undefined, { keyVersion }: NewOccurrence): { readonly keyVersion?: number } {
  const version = keyVersion ?? known
  return version === undefined ? {} : { keyVersion: version }
}

/** Whether the existing occurrence leaves its key to this row. */
export function givesWay(existing: Existing, row: NewOccurrence): boolean {
  return isRemembered(row) && freesKey(existing) && !isOutdated(existing, row)
}

/** The id under which a row is tried next whose first ids belong to `canceled` occurrences that free their key. */
export function idAfter({ tenant, job, key, id }: NewOccurrence, canceled: number): string {
  return canceled === 0 || key === null ? id : keyedId(tenant, job, key, canceled)
}

/** Whether ids of canceled work give way to the next: of keys that may be used only once. */
export function isRemembered({ key, unique }: Pick<NewOccurrence, 'key' | 'unique'>): boolean {
  return key !== null && unique === 'ever'
}

/** The change that a row makes to the existing one, if any: work that has begun or ended stays as it is. */
export function changeOf(
  existing: Pick<Existing, 'state' | 'hasBegun' | 'keyVersion'>,
  row: NewOccurrence,
): 'reschedule' | 'replace' | null {
  const { onConflict } = row
  if (onConflict === 'keep' || !isUnbegun(existing) || isOutdated(existing, row)) return null
  if (typeof onConflict === 'string') return onConflict
  return 'debounce' in onConflict ? 'replace' : null
}

function isUnbegun({ state, hasBegun }: Pick<Existing, 'state' | 'hasBegun'>): boolean {
  return (state === 'pending' || state === 'waiting') && !hasBegun
}

/** When the changed work is due. Debounced work is moved no further than its longest wait allows. */
export function changedDue({ onConflict }: NewOccurrence, createdAt: number, dueAt: number): number {
  const longest = typeof onConflict === 'object' && 'debounce' in onConflict ? onConflict.debounce.longestMs : null
  return longest === null ? dueAt : Math.min(dueAt, createdAt + longest)
}

/** The record of the existing work after a change. */
export function changedRecord(
  record: OccurrenceRecord,
  row: NewOccurrence,
  change: 'reschedule' | 'replace',
  dueAt: number,
): OccurrenceRecord {
  const replaced = change === 'replace' && { payload: row.payload, priority: row.priority }
  return { ...record, scheduledAt: dueAt, ...replaced, ...keyVersionAfter(record.keyVersion, row) }
}

/** Work that is paced, with the time of its creation. */
interface PacedWork extends Pick<Existing, 'id' | 'state' | 'hasBegun'> {
  readonly createdAt: number
}

export function pacedWork({ id, state, hasBegun, record }: HeldOccurrence): PacedWork {
  return { id, state, hasBegun, createdAt: record.createdAt }
}

/** Whether a call returns the newest work of its key, ended or not, for it was created a short while ago. */
export function isThrottled(newest: PacedWork, { onConflict }: NewOccurrence, now: number): boolean {
  if (typeof onConflict !== 'object' || !('throttle' in onConflict) || freesKey(newest)) return false
  return newest.createdAt > now - onConflict.throttle.perMs
}

/** Whether a paced row takes the live key from work that has begun: the payload that it brings would be lost with that. */
export function takesKey(holder: PacedWork, row: NewOccurrence, now: number): boolean {
  if (typeof row.onConflict !== 'object' || holder.id === row.id) return false
  return !isUnbegun(holder) && !isThrottled(holder, row, now)
}

/** The answer for a row that found an existing one. */
export function conflictAnswer(existing: Existing, row: NewOccurrence): CreatedRow {
  const { id, state, payload } = existing
  const change = changeOf(existing, row)
  const differs = payload !== row.payload && change !== 'replace'
  if (change === null) return { id, outcome: 'existing', state, differs }
  return { id, outcome: change === 'replace' ? 'replaced' : 'moved', state: 'pending', differs }
}
