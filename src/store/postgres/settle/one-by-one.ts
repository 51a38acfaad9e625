// Settles item by item, with the claims locked: some were lost, ended before, or asked to stop.
import type { TurnRecord } from '../../../model/occurrence.ts'
import { endToWrite, isSameEnd } from '../../rules/settle.ts'
import type { Hint, SettleItem, SettleOptions, WriteAnswer } from '../../store.ts'
import { Changes } from '../changes/changes.ts'
import { lockClaims } from '../claim/fence.ts'
import { column } from '../connection/arrays.ts'
import { endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { type Context, storeNow } from '../context.ts'
import { readRunning } from '../occurrence/running-members.ts'
import { dueAt, endTurn } from './end-turn.ts'

interface OneByOneAnswer {
  readonly answers: readonly WriteAnswer[]
  readonly hints: readonly Hint[]
  readonly now: number
  /** A claim found the cluster's limit reached. */
  readonly isFull: boolean
}

export async function settleOneByOne(
  context: Context,
  items: readonly SettleItem[],
  { done = [], hooksDone = [] }: SettleOptions,
): Promise<OneByOneAnswer> {
  return context.db.transaction(async (session) => {
    const tokens = await lockClaims(session, [...items.map(({ claim }) => claim.id), ...done.map(({ id }) => id)], 'UPDATE')
    const refs = items.map(({ member }) => member.ref)
    const [[clock], ends, running] = await Promise.all([
      session.rows<{ now: number; is_full: boolean }>(
        `SELECT ${storeNow} AS now, (SELECT is_full FROM punctual.door) AS is_full`,
        [context.now()],
      ),
      readEnds(session, refs),
      readRunning(context, session, [...tokens.keys()], refs),
    ])
    const { now, is_full: isFull } = clock as { now: number; is_full: boolean }
    const members = new Map(running.map((member) => [`${member.claim} ${endKey(member.ref, member.turn)}`, member]))
    const changes = new Changes(now)
    const hints: Hint[] = []
    const answers = items.map((item): WriteAnswer => {
      const { claim, member } = item
      const key = endKey(member.ref, member.turn)
      const before = ends.get(key)
      const moving = tokens.get(claim.id) === claim.token ? members.get(`${claim.id} ${key}`) : undefined
      if (before || !moving) return before && isSameEnd(before, item.end) ? 'ok' : 'lost'
      const end = endToWrite(item.end, moving.cancel)
      ends.set(key, end)
      const dues = endTurn(changes, item, { moving, node: moving.node, end, now })
      hints.push(...dues.map((due) => ({ kind: 'due' as const, at: dueAt(due, now) })))
      return 'ok'
    })
    changes.hooksDone(hooksDone)
    if (await changes.write(session)) hints.push({ kind: 'due', at: now })
    await dropDone(
      session,
      done.filter(({ id, token }) => tokens.get(id) === token).map(({ id }) => id),
    )
    return { answers, hints, now, isFull }
  })
}

function endKey(ref: number, turn: number): string {
  return `${ref} ${turn}`
}

type StandingEnd = Pick<TurnRecord, 'end' | 'endedAt'>

async function readEnds(session: Session, refs: readonly number[]): Promise<Map<string, StandingEnd>> {
  const rows = await session.rows<{ ref: number; turn: number; end: TurnRecord['end']; ended_at: number }>(
    'SELECT ref, turn, "end", ended_at FROM punctual.turn WHERE ref = ANY($1::bigint[])',
    [column(refs)],
  )
  return new Map(rows.map(({ ref, turn, end, ended_at }) => [endKey(ref, turn), { end, endedAt: ended_at }]))
}

/** Deletes those of the claims none of whose members is left. */
async function dropDone(session: Session, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await session.rows(
    `DELETE FROM punctual.claim c WHERE c.id = ANY($1::text[])
      AND NOT EXISTS (SELECT 1 FROM unnest(c.refs, c.turns) m (ref, turn) WHERE ${lacks('turn', endOf('m'))})`,
    [column(ids)],
  )
}
