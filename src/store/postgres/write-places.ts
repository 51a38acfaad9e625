// Where the changed entries of a slice stand: they leave one table and come into another.
import { type Entry, stateOf } from '../ledger/ledger.ts'
import { type Columns, deleteRows, insertRows } from './batch.ts'
import { type Change, isMoved, seriesOf } from './changes.ts'
import type { Before, Slice } from './slice.ts'

const seriesRef: Columns = { series: 'int', ref: 'bigint' }
const placeColumns: Columns = {
  kind: 'int',
  priority: 'smallint',
  lane: 'int',
  due_at: 'float8',
  ref: 'bigint',
  series: 'int',
  turn: 'int',
  planned: 'boolean',
  retrying: 'boolean',
  limited: 'boolean',
}

export function leavePlaces(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void>[] {
  const left = [...changes.flatMap(({ entry, before }) => (before && isMoved(entry, before.entry) ? [before] : [])), ...gone]
  const rows = (wanted: (before: Before) => boolean) =>
    left.filter(wanted).map(({ entry }) => [seriesOf(slice, entry.record), entry.ref])
  return [
    deleteRows(
      slice,
      'ready',
      seriesRef,
      rows(({ entry }) => entry.place === 'ready'),
    ),
    deleteRows(
      slice,
      'waiting',
      seriesRef,
      rows(({ entry }) => entry.place === 'waiting'),
    ),
    deleteRows(
      slice,
      'dead',
      seriesRef,
      rows(({ state }) => state === 'dead'),
    ),
  ]
}

export function takePlaces(slice: Slice, changes: readonly Change[]): Promise<void>[] {
  const { session } = slice
  const taken = changes.filter(({ entry, before }) => before === null || isMoved(entry, before.entry))
  const inPlace = (place: Entry['place']) => taken.filter(({ entry }) => entry.place === place)
  // Those that wait keep the order in which they began to.
  const order = new Map([...slice.ledger.waiting].map((entry, at) => [entry, at]))
  const waiting = inPlace('waiting').sort((a, b) => (order.get(a.entry) ?? 0) - (order.get(b.entry) ?? 0))
  return [
    insertRows(
      session,
      'ready',
      placeColumns,
      inPlace('ready').map((change) => placeRow(slice, change)),
    ),
    insertRows(
      session,
      'waiting',
      { ...placeColumns, reason: 'punctual.wait_reason', key: 'text', wake_at: 'float8' },
      waiting.map((change) => {
        const { reason = 'pause', key = null, wakeAt = null } = change.entry.wait ?? {}
        return [...placeRow(slice, change), reason, key, wakeAt]
      }),
    ),
    insertRows(
      session,
      'dead',
      seriesRef,
      taken.filter(({ entry }) => stateOf(entry) === 'dead').map(({ entry, series }) => [series, entry.ref]),
    ),
    insertRows(
      session,
      'expiry',
      { expires_at: 'float8', ref: 'bigint' },
      inPlace('ready').flatMap(({ entry: { ref, turn, dueAt, record } }) =>
        turn === 1 && record.startWithinMs !== null ? [[dueAt + record.startWithinMs, ref]] : [],
      ),
      'ON CONFLICT DO NOTHING',
    ),
  ]
}

function placeRow({ context, laned }: Slice, { entry, before, series }: Change) {
  const { ref, turn, dueAt, record } = entry
  const kind = context.dictionary.kind(record.kind)
  const isPlanned = turn === 1 && (record.source === 'schedule' || record.source === 'recovery')
  const isRetrying = entry.place === 'waiting' ? isBetweenTries(entry, before) : stateOf(entry) === 'retrying'
  const lane = laned.has(kind) ? series : 0
  return [kind, record.priority, lane, dueAt, ref, series, turn, isPlanned, isRetrying, isLimited(entry)]
}

function isBetweenTries(entry: Entry, before: Before | null): boolean {
  const last = entry.turns.at(-1)
  return before?.state === 'retrying' || (last !== undefined && stateOf({ ...entry, place: 'ready' }) === 'retrying')
}

/** Whether more than its due time decides about it: such ones are claimed and ended with their keys. */
export function isLimited({ record, holding }: Entry): boolean {
  return record.holds !== null || record.startWithinMs !== null || holding.size > 0
}
