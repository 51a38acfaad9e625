// Writes what a verb has changed in its slice of the ledger. The statements are sent one behind the other without waiting.
import { isEnd } from '../../model/lifecycle.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import { type Entry, stateOf } from '../ledger/ledger.ts'
import { type Columns, deleteRows, insertRows } from './batch.ts'
import { toJson } from './records.ts'
import type { Before, Slice } from './slice.ts'
import { Tallies } from './tallies.ts'

const seriesRef: Columns = { series: 'int', ref: 'bigint' }
const refOnly: Columns = { ref: 'bigint' }
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

/** An entry that has changed, or come into being. */
interface Change {
  readonly entry: Entry
  /** Null for a new one. */
  readonly before: Before | null
  readonly series: number
}

export async function flush(slice: Slice): Promise<void> {
  const changes = changesOf(slice)
  tellOfReady(slice, changes)
  const gone = [...slice.before.values()].filter(({ entry }) => !slice.ledger.entries.has(entry.ref))
  await Promise.all([
    ...leavePlaces(slice, changes, gone),
    ...writeOccurrences(slice, changes, gone),
    ...takePlaces(slice, changes),
    ...writeTurns(slice, changes),
    ...writeKeys(slice, changes, gone),
    ...writeClaims(slice),
    writeTallies(slice, changes, gone),
  ])
}

/** What waited keeps the time it was due: who looks for work only from some time on has to be told of it. */
function tellOfReady({ hints }: Slice, changes: readonly Change[]): void {
  const dues = changes
    .filter(({ entry, before }) => entry.place === 'ready' && (before === null || isMoved(entry, before.entry)))
    .map(({ entry }) => entry.dueAt)
  if (dues.length > 0) hints.push({ kind: 'due', at: Math.min(...dues) })
}

function changesOf(slice: Slice): Change[] {
  const changes: Change[] = []
  for (const entry of slice.ledger.entries.values()) {
    const before = slice.before.get(entry.ref) ?? null
    if (!before || hasChanged(entry, before)) changes.push({ entry, before, series: seriesOf(slice, entry.record) })
  }
  return changes
}

function hasChanged(entry: Entry, { entry: before, holding, turns, attempts }: Before): boolean {
  return (
    isMoved(entry, before) ||
    entry.record !== before.record ||
    entry.turns.length !== turns ||
    entry.attempts.length !== attempts ||
    entry.start !== before.start ||
    entry.cancel !== before.cancel ||
    entry.progress !== before.progress ||
    entry.holding.size !== holding.size ||
    [...entry.holding].some((key) => !holding.has(key))
  )
}

/** Whether its row in ready or waiting is another than before. */
function isMoved(entry: Entry, before: Readonly<Entry>): boolean {
  return (
    entry.place !== before.place ||
    entry.turn !== before.turn ||
    entry.dueAt !== before.dueAt ||
    entry.wait !== before.wait ||
    // What was put back is a row of its own, though it looks the same: its limits or its priority may be others.
    (entry.place === 'ready' && entry.record !== before.record)
  )
}

function seriesOf({ context }: Slice, { tenant, job }: OccurrenceRecord): number {
  return context.dictionary.series(tenant, job).ref
}

function leavePlaces(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void>[] {
  const { session } = slice
  const left = [...changes.flatMap(({ entry, before }) => (before && isMoved(entry, before.entry) ? [before] : [])), ...gone]
  const rows = (wanted: (before: Before) => boolean) =>
    left.filter(wanted).map(({ entry }) => [seriesOf(slice, entry.record), entry.ref])
  return [
    deleteRows(
      session,
      'ready',
      seriesRef,
      rows(({ entry }) => entry.place === 'ready'),
    ),
    deleteRows(
      session,
      'waiting',
      seriesRef,
      rows(({ entry }) => entry.place === 'waiting'),
    ),
    deleteRows(
      session,
      'dead',
      seriesRef,
      rows(({ state }) => state === 'dead'),
    ),
  ]
}

const occurrenceColumns: Columns = {
  ref: 'bigint',
  id: 'uuid',
  series: 'int',
  kind: 'int',
  version: 'int',
  source: 'punctual.source',
  key: 'text',
  uniqueness: 'punctual.uniqueness',
  entity: 'text',
  refs: 'text',
  settings: 'text',
  priority: 'smallint',
  holds: 'text',
  span: 'text',
  replay: 'text',
  start_within_ms: 'float8',
  scheduled_at: 'float8',
  created_at: 'float8',
  payload: 'text',
}

function writeOccurrences(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void>[] {
  const { session, context } = slice
  const fresh = changes.filter(({ before }) => before === null)
  const changed = changes.filter(({ entry, before }) => before !== null && entry.record !== before.entry.record)
  return [
    deleteRows(
      session,
      'occurrence',
      refOnly,
      gone.map(({ entry }) => [entry.ref]),
    ),
    insertRows(
      session,
      'occurrence',
      occurrenceColumns,
      fresh.map(({ entry: { ref, record }, series }) => [
        ref,
        record.id,
        series,
        context.dictionary.kind(record.kind),
        record.version,
        record.source,
        record.key,
        record.unique,
        record.entity,
        Object.keys(record.refs).length === 0 ? null : JSON.stringify(record.refs),
        toJson(record.settings),
        record.priority,
        toJson(record.holds),
        toJson(record.span),
        toJson(record.replay),
        record.startWithinMs,
        record.scheduledAt,
        record.createdAt,
        record.payload,
      ]),
    ),
    ...changed.map(async ({ entry: { ref, record } }) => {
      await session.all(
        `UPDATE punctual.occurrence SET scheduled_at = $2, priority = $3, payload = $4, source = $5::text::punctual.source, holds = $6, span = $7
          WHERE ref = $1`,
        [ref, record.scheduledAt, record.priority, record.payload, record.source, toJson(record.holds), toJson(record.span)],
      )
    }),
  ]
}

function takePlaces(slice: Slice, changes: readonly Change[]): Promise<void>[] {
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

const turnColumns: Columns = {
  ref: 'bigint',
  turn: 'int',
  series: 'int',
  due_at: 'float8',
  end: 'punctual.turn_end',
  node: 'int',
  started_at: 'float8',
  ended_at: 'float8',
  attempt: 'punctual.attempt_state',
  settings: 'text',
  tasks: 'text',
  reason: 'text',
  error: 'text',
  result: 'text',
}

const attemptColumns: Columns = {
  ref: 'bigint',
  turn: 'int',
  task: 'text',
  n: 'int',
  state: 'punctual.attempt_state',
  started_at: 'float8',
  ended_at: 'float8',
  retry_at: 'float8',
  error: 'text',
  result: 'text',
}

function writeTurns(slice: Slice, changes: readonly Change[]): Promise<void>[] {
  const { session, context } = slice
  const isOver = ({ entry, before }: Change) => before !== null && entry.turns.length > before.turns
  const over = changes.filter(isOver)
  return [
    insertRows(
      session,
      'turn',
      turnColumns,
      slice.ended.map(({ entry: { ref, record }, end, dueAt }) => [
        ref,
        end.turn,
        seriesOf(slice, record),
        dueAt,
        end.end,
        end.node === null ? null : (context.dictionary.boot(end.node) ?? null),
        end.startedAt,
        end.endedAt,
        end.attempt,
        toJson(end.settings),
        toJson(end.tasks),
        end.reason,
        toJson(end.error),
        end.result,
      ]),
    ),
    insertRows(
      session,
      'attempt',
      attemptColumns,
      changes.flatMap(({ entry, before }) =>
        entry.attempts
          .slice(before?.attempts ?? 0)
          .map((one) => [
            entry.ref,
            one.turn,
            one.task,
            one.n,
            one.state,
            one.startedAt,
            one.endedAt,
            one.retryAt,
            toJson(one.error),
            one.result,
          ]),
      ),
      'ON CONFLICT DO NOTHING',
    ),
    deleteRows(
      session,
      'start',
      refOnly,
      over.filter(({ before }) => before?.entry.start).map(({ entry }) => [entry.ref]),
    ),
    deleteRows(
      session,
      'cancel_request',
      refOnly,
      over.filter(({ before }) => before?.entry.cancel).map(({ entry }) => [entry.ref]),
    ),
    insertRows(
      session,
      'cancel_request',
      { ref: 'bigint', turn: 'int', reason: 'text' },
      changes.flatMap((change) => {
        const { ref, turn, cancel } = change.entry
        return cancel && !change.before?.entry.cancel && !isOver(change) ? [[ref, turn, cancel.reason]] : []
      }),
      'ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, reason = excluded.reason',
    ),
  ]
}

function writeKeys(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void>[] {
  const { session } = slice
  const freed = [
    ...changes.flatMap(({ entry, before }) =>
      [...(before?.holding ?? [])].filter((key) => !entry.holding.has(key)).map((key) => [entry.ref, key] as const),
    ),
    ...gone.flatMap(({ entry, holding }) => [...holding].map((key) => [entry.ref, key] as const)),
  ]
  // In the order in which the keys were taken.
  const taken = [...slice.ledger.holders].flatMap(([key, holders]) =>
    [...holders].filter(({ ref }) => !slice.before.get(ref)?.holding.has(key)).map(({ ref }) => [key, ref] as const),
  )
  const live = changes.filter(({ entry }) => entry.record.unique === 'live' && entry.record.key !== null)
  return [
    deleteRows(session, 'hold', { ref: 'bigint', key: 'text' }, freed),
    insertRows(session, 'hold', { key: 'text', ref: 'bigint' }, taken),
    insertRows(
      session,
      'rate_start',
      { key: 'text', at: 'float8', until: 'float8' },
      slice.started.map(({ key, at, until }) => [key, at, until]),
    ),
    deleteRows(
      session,
      'live_key',
      { series: 'int', key: 'text', ref: 'bigint' },
      live
        .filter(({ entry, before }) => before && !isEnd(before.state) && isEnd(stateOf(entry)))
        .map(({ entry, series }) => [series, entry.record.key, entry.ref]),
    ),
    insertRows(
      session,
      'live_key',
      { series: 'int', key: 'text', ref: 'bigint' },
      live
        .filter(({ entry, before }) => before === null && !isEnd(stateOf(entry)))
        .map(({ entry, series }) => [series, entry.record.key, entry.ref]),
    ),
  ]
}

function writeClaims({ session, ledger, claimsBefore, context, before }: Slice): Promise<void>[] {
  const gone = [...claimsBefore].filter((id) => !ledger.claims.has(id))
  const fresh = [...ledger.claims.values()].filter(({ id }) => !claimsBefore.has(id))
  return [
    deleteRows(
      session,
      'claim',
      { id: 'text' },
      gone.map((id) => [id]),
    ),
    ...fresh.map(async ({ id, token, node, refs }) => {
      const entries = refs.map((ref) => ledger.entries.get(ref) as Entry)
      await session.all('INSERT INTO punctual.claim (id, token, node, refs, turns, dues) VALUES ($1, $2, $3, $4, $5, $6)', [
        id,
        token,
        context.dictionary.boot(node),
        `{${refs.join(',')}}`,
        `{${entries.map(({ turn }) => turn).join(',')}}`,
        `{${entries.map(({ ref, dueAt }) => before.get(ref)?.entry.dueAt ?? dueAt).join(',')}}`,
      ])
    }),
  ]
}

async function writeTallies(slice: Slice, changes: readonly Change[], gone: readonly Before[]): Promise<void> {
  const tallies = new Tallies()
  for (const { entry, before, series } of changes) tallies.move(series, before?.state ?? null, stateOf(entry))
  for (const { entry, state } of gone) tallies.move(seriesOf(slice, entry.record), state, null)
  for (const { entry, end } of slice.ended) tallies.ended(seriesOf(slice, entry.record), end)
  for (const { tenant, job, state, count } of slice.ledger.ranges)
    tallies.move(slice.context.dictionary.series(tenant, job).ref, null, state, count)
  await tallies.write(slice.session)
}
