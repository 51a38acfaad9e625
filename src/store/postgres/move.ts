import { bareEnd, mayHaveBegun } from '../../model/turn.ts'
import { movedRecord } from '../rules/moved-record.ts'
import type { OccurrenceRow } from '../rules/sql/occurrence-row.ts'
import type { Due, MoveAnswer, MoveRequest } from '../store.ts'
import { auditedOccurrences } from './audit.ts'
import { endInPlace } from './beat.ts'
import { Changes, type Moving } from './changes/changes.ts'
import { each } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Acted, type Context, readNow } from './context.ts'
import { findRef } from './find.ts'
import { currentRows, currentState } from './occurrence/current-rows.ts'
import { readHistories } from './occurrence/history.ts'
import { occurrenceColumns, occurrenceRecord } from './occurrence/record.ts'
import { readRunning } from './occurrence/running-members.ts'
import { takeIdle } from './occurrence/take-idle.ts'

const nothing = (answer: MoveAnswer): Acted<MoveAnswer> => ({ answer, hints: [] })

export async function move(context: Context, { which, to, audit }: MoveRequest): Promise<Acted<MoveAnswer>> {
  return context.db.transaction(async (session) => {
    const ref = await findRef(session, which)
    if (ref === null) return nothing('unknown')
    return auditedOccurrences(session, context, { audit, refs: [ref] }, () => moveRef(session, context, ref, to))
  })
}

async function moveRef(session: Session, context: Context, ref: number, to: MoveRequest['to']): Promise<Acted<MoveAnswer>> {
  const now = await readNow(session, context)
  const at = (due: Due) => (typeof due === 'number' ? due : now + due.in)
  const changes = new Changes(now)
  if ('due' in to) {
    const [idle] = await takeIdle(context, session, [ref])
    if (!idle) return nothing((await stateOf(session, ref)) === 'running' ? 'running' : 'ended')
    const dueAt = at(to.due)
    const record = movedRecord(idle.record, idle.hasBegun, dueAt)
    if (record !== idle.record)
      await session.rows('UPDATE punctual.occurrence SET scheduled_at = $2::float8 WHERE ref = $1::bigint', [ref, dueAt])
    changes.reschedule({ ...idle, record }, dueAt, idle.isRetrying)
    await changes.write(session)
    return { answer: 'moved', hints: [{ kind: 'due', at: dueAt }] }
  }
  if ('release' in to) return release(context, session, { ref, now, reason: to.release })
  const dead = await takeDead(context, session, ref)
  if (!dead) {
    const state = await stateOf(session, ref)
    if (state === 'running') return nothing('running')
    return nothing(lasting.includes(state) ? 'not-dead' : 'ended')
  }
  if ('discard' in to) {
    changes.endIdle(dead, { turn: dead.turn, ...bareEnd('canceled', now, { reason: to.discard }) })
    await changes.write(session)
    return nothing('moved')
  }
  changes.revive(dead, at(to.retry))
  await changes.write(session)
  if (to.payload !== undefined)
    await session.rows('UPDATE punctual.occurrence SET payload = $2 WHERE ref = $1', [ref, to.payload])
  return { answer: 'moved', hints: [{ kind: 'due', at: at(to.retry) }] }
}

interface Releasing {
  readonly ref: number
  readonly now: number
  readonly reason: string | null
}

async function release(context: Context, session: Session, { ref, now, reason }: Releasing): Promise<Acted<MoveAnswer>> {
  const claims = await session.rows<{ id: string }>(
    'SELECT id FROM punctual.claim WHERE refs @> ARRAY[$1::bigint] ORDER BY id FOR UPDATE',
    [ref],
  )
  const ids = claims.map(({ id }) => id)
  const [member] = await readRunning(context, session, ids, [ref])
  if (!member) return nothing(lasting.includes(await stateOf(session, ref)) ? 'not-running' : 'ended')
  const changes = new Changes(now)
  // The handler may have begun without a note of it.
  const hints = endInPlace(changes, member, now, { startedAt: member.startedAt ?? now, reason })
  if (await changes.write(session)) hints.push({ kind: 'due', at: now })
  return { answer: 'moved', hints: [...hints, { kind: 'cancel', node: member.node }] }
}

const lasting: readonly string[] = ['pending', 'retrying', 'waiting', 'running']

async function stateOf(session: Session, ref: number): Promise<string> {
  const [row] = await session.rows<{ state: string }>(
    `SELECT ${currentState} AS state FROM punctual.occurrence o ${currentRows} WHERE o.ref = $1`,
    [ref],
  )
  return row?.state ?? 'ended'
}

/** A dead occurrence, on its way to its next turn; null where it is not dead. */
export async function takeDead({ names }: Context, session: Session, ref: number): Promise<Moving | null> {
  const [row] = await session.rows<OccurrenceRow>(
    `WITH d AS (DELETE FROM punctual.dead d WHERE d.ref = $1 AND d.series = (SELECT k.series FROM punctual.occurrence k WHERE k.ref = $1) RETURNING d.ref)
      SELECT ${occurrenceColumns} FROM d CROSS JOIN ${each('occurrence e', 'e.ref = d.ref')} o`,
    [ref],
  )
  if (!row) return null
  await names.learnOf(session, [row])
  const turns = (await readHistories(session, [ref])).get(ref)?.turns ?? []
  const [last] = await session.rows<{ due_at: number }>(
    'SELECT due_at FROM punctual.turn WHERE ref = $1 ORDER BY turn DESC LIMIT 1',
    [ref],
  )
  return {
    ref,
    series: row.series,
    kind: names.formByRef(row.form).kindRef,
    record: occurrenceRecord(names, row),
    turn: (turns.at(-1)?.turn ?? 0) + 1,
    dueAt: last?.due_at ?? 0,
    hasBegun: turns.some(mayHaveBegun),
    granted: 0,
    state: 'dead',
    line: null,
  }
}
