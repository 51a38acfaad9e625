// Writes what a verb has changed in its slice of the ledger. The statements are sent one behind the other without waiting.
import { type Entry, stateOf } from '../ledger/ledger.ts'
import { toJson } from '../rows/json.ts'
import { unquoted } from './arrays.ts'
import { type Columns, deleteRows, insertRows } from './batch.ts'
import { type Change, changesOf, isMoved, seriesOf } from './changes.ts'
import type { Before, Slice } from './slice.ts'
import { Tallies } from './tallies.ts'
import { writeKeys } from './write-keys.ts'
import { leavePlaces, takePlaces } from './write-places.ts'
import { writeTurns } from './write-turns.ts'

const refOnly: Columns = { ref: 'bigint' }

export async function flush(slice: Slice): Promise<void> {
  await slice.serveWaiting()
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
      slice,
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
        `UPDATE punctual.occurrence SET scheduled_at = $2::float8, priority = $3::smallint, payload = $4::text,
          source = $5::text::punctual.source, holds = $6::text, span = $7::text WHERE ref = $1::bigint`,
        [ref, record.scheduledAt, record.priority, record.payload, record.source, toJson(record.holds), toJson(record.span)],
      )
    }),
  ]
}

function writeClaims(slice: Slice): Promise<void>[] {
  const { session, ledger, claimsBefore, context, before } = slice
  const gone = [...claimsBefore].filter((id) => !ledger.claims.has(id))
  const fresh = [...ledger.claims.values()].filter(({ id }) => !claimsBefore.has(id))
  return [
    deleteRows(
      slice,
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
        unquoted(refs),
        unquoted(entries.map(({ turn }) => turn)),
        unquoted(entries.map(({ ref, dueAt }) => before.get(ref)?.entry.dueAt ?? dueAt)),
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
