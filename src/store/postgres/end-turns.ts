// Ends turns by one statement and nothing looked up before: for those that have no keys, no places and no next turn.

import { toJson } from '../rows/json.ts'
import type { ClaimRef, SettleItem } from '../store.ts'
import { column, unquoted } from './arrays.ts'
import { attemptTypes, attemptValues } from './attempts.ts'
import { arrays, unnested } from './batch.ts'
import { each } from './by-key.ts'
import type { Database } from './database.ts'
import { isDuplicate } from './failure.ts'
import type { KnownMember } from './known-claims.ts'
import type { Statement } from './session.ts'

/**
 * Ends the turn of each item; `members` are what is known of them. False: some have an end row already, have lost their claim
 * or may have been asked to stop, which is rare enough to say all of it once more with care. What was written of the others stands, and is not written twice.
 */
export async function endTurns(
  db: Database,
  items: readonly SettleItem[],
  members: readonly KnownMember[],
  done: readonly ClaimRef[],
): Promise<boolean> {
  const claims = new Map<string, ClaimRef>()
  for (const { claim } of items) claims.set(claim.id, claim)
  for (const claim of done) claims.set(claim.id, claim)
  // Locked in this order, so that two who settle the same claims do not block each other.
  const refs = [...claims.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  const places = new Map(refs.map(({ id }, at) => [id, at + 1]))
  const attempts = items.flatMap(({ ref, attempts: own }) => own.map((attempt) => attemptValues(ref, attempt)))
  const manner = attempts.length > 0 ? 'tried' : areSilent(items, members) ? 'silent' : 'plain'
  try {
    const [row] = await db.all<[ended: number, areAsked: boolean]>(statements[manner], [
      column(refs.map(({ id }) => id)),
      column(refs.map(({ token }) => token)),
      column(done.map(({ id }) => places.get(id) ?? 0)),
      unquoted(items.map(({ claim }) => places.get(claim.id) ?? 0)),
      unquoted(items.map(({ ref }) => ref)),
      unquoted(items.map(({ turn }) => turn)),
      unquoted(members.map(({ series }) => series)),
      ...(manner === 'silent' ? silentColumns(items, members) : endColumns(items, members)),
      ...(manner === 'tried' ? arrays(attemptTypes, attempts) : []),
    ])
    const [ended, areAsked] = row as [number, boolean]
    return ended === items.length && !areAsked
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}

/** What most ends are like: all succeeded, and there is nothing to say of any of them. */
function areSilent(items: readonly SettleItem[], members: readonly KnownMember[]): boolean {
  return (
    items.every(
      ({ end }) =>
        end.end === 'completed' &&
        end.attempt === 'succeeded' &&
        Number.isInteger(end.startedAt) &&
        Number.isInteger(end.endedAt) &&
        end.result === null &&
        end.settings === null &&
        end.tasks === null &&
        end.reason === null &&
        end.error === null,
    ) && members.every(({ dueAt }) => Number.isInteger(dueAt))
  )
}

/** Times as distances from one of them: short numbers are quicker to write and to read. */
function silentColumns(items: readonly SettleItem[], members: readonly KnownMember[]): (string | number)[] {
  const from = items[0]?.end.endedAt ?? 0
  return [
    from,
    unquoted(members.map(({ dueAt }) => dueAt - from)),
    unquoted(items.map(({ end }) => (end.startedAt as number) - from)),
    unquoted(items.map(({ end }) => end.endedAt - from)),
  ]
}

function endColumns(items: readonly SettleItem[], members: readonly KnownMember[]): (string | null)[] {
  const of = (value: (end: SettleItem['end']) => string | number | null) => column(items.map(({ end }) => value(end)))
  return [
    column(members.map(({ dueAt }) => dueAt)),
    of(({ end }) => end),
    of(({ startedAt }) => startedAt),
    of(({ endedAt }) => endedAt),
    of(({ attempt }) => attempt),
    of(({ settings }) => toJson(settings)),
    of(({ tasks }) => toJson(tasks)),
    of(({ reason }) => reason),
    of(({ error }) => toJson(error)),
    of(({ result }) => result),
    column(failuresThatCount(items, members)),
  ]
}

/** The failures after which no success follows, as far as these items tell. */
function failuresThatCount(items: readonly SettleItem[], members: readonly KnownMember[]): number[] {
  const counted = new Map<number, number[]>()
  for (const [at, { ref, end }] of items.entries()) {
    const { series } = members[at] as KnownMember
    if (end.end === 'completed') counted.delete(series)
    else if (end.end === 'failed' || end.end === 'dead') counted.set(series, [...(counted.get(series) ?? []), ref])
  }
  return [...counted.values()].flat()
}

const turnColumns = 'ref, turn, series, due_at, "end", node, started_at, ended_at, attempt'

const silentTurns = `INSERT INTO punctual.turn (${turnColumns})
    SELECT i.ref, i.turn, i.series, $8::float8 + i.due_at, 'completed'::punctual.turn_end, h.node, $8::float8 + i.started_at,
      $8::float8 + i.ended_at, 'succeeded'::punctual.attempt_state
    FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[], $9::bigint[], $10::bigint[], $11::bigint[])
      i (claim, ref, turn, series, due_at, started_at, ended_at)`

const turns = `INSERT INTO punctual.turn (${turnColumns}, settings, tasks, reason, error, result)
    SELECT i.ref, i.turn, i.series, i.due_at, i."end", h.node, i.started_at, i.ended_at, i.attempt, i.settings, i.tasks, i.reason, i.error, i.result
    FROM unnest($4::int[], $5::bigint[], $6::int[], $7::int[], $8::float8[], $9::punctual.turn_end[], $10::float8[], $11::float8[],
      $12::punctual.attempt_state[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
      i (claim, ref, turn, series, due_at, "end", started_at, ended_at, attempt, settings, tasks, reason, error, result)`

const ends = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'dead']

const silentTally = `INSERT INTO punctual.tally (series, running, completed, last_run_at, succeeded)
    SELECT series, -count(*), count(*), max(started_at), true FROM ended GROUP BY series`

const tally = `INSERT INTO punctual.tally (series, running, ${ends.join(', ')}, last_run_at, succeeded, failures)
    SELECT series, -count(*), ${ends.map((end) => `count(*) FILTER (WHERE "end" = '${end}')`).join(', ')}, max(started_at),
      bool_or("end" = 'completed'), count(*) FILTER (WHERE ref = ANY($18::bigint[])) FROM ended GROUP BY series`

const dead = `d AS (INSERT INTO punctual.dead (series, ref) SELECT series, ref FROM ended WHERE "end" = 'dead'),`

const attemptNames = Object.keys(attemptTypes).join(', ')
const attempts = `a AS (
    INSERT INTO punctual.attempt (${attemptNames}) SELECT a.* FROM ${unnested(attemptTypes, 19)} a (${attemptNames})
    WHERE a.ref IN (SELECT ref FROM ended) ON CONFLICT DO NOTHING),`

// held: the claims that stand, locked, so that nobody takes them away meanwhile. Of those of which a member was asked to stop
// nothing is ended here: what the statement sees of the request may be older than the lock. The end row is the fence: where there
// is one already, the statement fails and nothing is written.
const statement = (inserting: string, counting: string, more = '') => `WITH held AS MATERIALIZED (
    SELECT k.at, c.id, c.node, c.asked FROM unnest($1::text[], $2::text[]) WITH ORDINALITY k (id, token, at)
    CROSS JOIN ${each('claim', 'id = k.id AND token = k.token', { columns: 'id, node, asked', lock: 'FOR UPDATE' })} c),
  ended AS (${inserting} JOIN held h ON h.at = i.claim AND NOT h.asked RETURNING ref, series, "end", started_at),
  ${more}
  s AS (DELETE FROM punctual.start WHERE ref = ANY(ARRAY(SELECT ref FROM ended WHERE EXISTS (SELECT 1 FROM punctual.start)))),
  y AS (${counting}),
  x AS (DELETE FROM punctual.claim WHERE id = ANY(ARRAY(SELECT id FROM held WHERE NOT asked AND at = ANY($3::int[]))))
  SELECT (SELECT count(*) FROM ended) AS ended, EXISTS (SELECT 1 FROM held WHERE asked) AS are_asked`

const statements = {
  silent: statement(silentTurns, silentTally),
  plain: statement(turns, tally, dead),
  tried: statement(turns, tally, `${dead} ${attempts}`),
}

/** Ends of which there is nothing to say, and none of them. */
export const endNothing: Statement = {
  sql: statements.silent,
  values: ['{}', '{}', '{}', '{}', '{}', '{}', '{}', 0, '{}', '{}', '{}'],
}
