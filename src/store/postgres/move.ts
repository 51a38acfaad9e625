import { bareEnd, mayHaveBegun } from '../../model/turn.ts'
import type { Due, Hint, MoveAnswer, MoveRequest } from '../store.ts'
import { Changes, type Moving } from './changes/changes.ts'
import { each } from './connection/by-key.ts'
import type { Session } from './connection/session.ts'
import { type Context, storeNow } from './context.ts'
import { findRef } from './find.ts'
import { readHistories } from './occurrence/history.ts'
import { takeIdle } from './occurrence/idle.ts'
import { type OccurrenceRow, occurrenceColumns, occurrenceRecord } from './occurrence/record.ts'
import { standing, stateOfStanding } from './occurrence/standing.ts'

interface Moved {
  readonly answer: MoveAnswer
  readonly hints: readonly Hint[]
}

const nothing = (answer: MoveAnswer): Moved => ({ answer, hints: [] })

export async function move(session: Session, context: Context, { which, to }: MoveRequest): Promise<Moved> {
  const ref = await findRef(session, which)
  if (ref === null) return nothing('unknown')
  const [[now]] = (await session.all<[number]>(`SELECT ${storeNow} AS now`, [context.now()])) as [[number]]
  const at = (due: Due) => (typeof due === 'number' ? due : now + due.in)
  const changes = new Changes(now)
  if ('due' in to) {
    const [idle] = await takeIdle(context, session, [ref])
    if (!idle) return nothing((await stateOf(session, ref)) === 'running' ? 'running' : 'ended')
    changes.reschedule(idle, at(to.due), idle.isRetrying)
    await changes.write(session)
    return { answer: 'moved', hints: [{ kind: 'due', at: at(to.due) }] }
  }
  const dead = await takeDead(context, session, ref)
  if (!dead) {
    const state = await stateOf(session, ref)
    if (state === 'running') return nothing('running')
    return nothing(['pending', 'retrying', 'waiting'].includes(state) ? 'not-dead' : 'ended')
  }
  if ('discard' in to) {
    changes.endIdle(dead, { turn: dead.turn, ...bareEnd('canceled', now, { reason: to.discard }) })
    await changes.write(session)
    return nothing('moved')
  }
  changes.revive(dead, at(to.retry))
  await changes.write(session)
  return { answer: 'moved', hints: [{ kind: 'due', at: at(to.retry) }] }
}

async function stateOf(session: Session, ref: number): Promise<string> {
  const [row] = await session.all<[string]>(
    `SELECT ${stateOfStanding} AS state FROM punctual.occurrence o ${standing} WHERE o.ref = $1`,
    [ref],
  )
  return row?.[0] ?? 'ended'
}

/** A dead occurrence, on its way to its next turn; null where it is not dead. */
async function takeDead({ names }: Context, session: Session, ref: number): Promise<Moving | null> {
  const [row] = await session.all<[...OccurrenceRow]>(
    `WITH d AS (DELETE FROM punctual.dead d WHERE d.ref = $1 AND d.series = (SELECT k.series FROM punctual.occurrence k WHERE k.ref = $1) RETURNING d.ref)
      SELECT ${occurrenceColumns} FROM d CROSS JOIN ${each('occurrence e', 'e.ref = d.ref')} o`,
    [ref],
  )
  if (!row) return null
  await names.learn(session, { series: [row[2]], forms: [row[3]] })
  const turns = (await readHistories(session, [ref])).get(ref)?.turns ?? []
  const [last] = await session.all<[number]>('SELECT due_at FROM punctual.turn WHERE ref = $1 ORDER BY turn DESC LIMIT 1', [ref])
  return {
    ref,
    series: row[2],
    kind: names.formByRef(row[3]).kindRef,
    record: occurrenceRecord(names, row),
    turn: (turns.at(-1)?.turn ?? 0) + 1,
    dueAt: last?.[0] ?? 0,
    hasBegun: turns.some(mayHaveBegun),
    granted: 0,
    state: 'dead',
    line: null,
  }
}
