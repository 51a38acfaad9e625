// Settles item by item, with the claims locked: some were lost, ended before, or asked to stop.
import type { TurnRecord } from '../../../model/occurrence.ts'
import { endToWrite, goesOn, isSameEnd, nextTurnDue } from '../../rules/settle.ts'
import type { Hint, SettleItem, SettleOptions, WriteAnswer } from '../../store.ts'
import { Changes } from '../changes/changes.ts'
import { column } from '../connection/arrays.ts'
import { endOf, lacks } from '../connection/by-key.ts'
import type { Session } from '../connection/session.ts'
import { type Context, storeNow } from '../context.ts'
import { readRunning } from '../occurrence/claimed.ts'

interface CarefulAnswer {
  readonly answers: readonly WriteAnswer[]
  readonly hints: readonly Hint[]
  readonly now: number
  /** A claim found the cluster's limit reached. */
  readonly isFull: boolean
}

export async function settleWithCare(
  context: Context,
  items: readonly SettleItem[],
  { done = [], heard = [] }: SettleOptions,
): Promise<CarefulAnswer> {
  return context.db.transaction(async (session) => {
    const tokens = await lockClaims(session, [...items.map(({ claim }) => claim.id), ...done.map(({ id }) => id)])
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
      const said = endToWrite(item.end, moving.cancel)
      const { ref, turn, node } = moving
      const row = { ...said, turn, node }
      ends.set(key, row)
      changes.attempts(ref, item.attempts)
      changes.logs(ref, item.logs)
      changes.endTurn(moving, row)
      if (goesOn(said.end)) {
        const dueAt = nextTurnDue(item, moving, now)
        changes.nextTurn(moving, row, dueAt)
        hints.push({ kind: 'due', at: dueAt })
        return 'ok'
      }
      if (moving.record.publish !== undefined) hints.push({ kind: 'due', at: now })
      // A cancel that came in between is for any node to report: this one does not know of it.
      const isOwn = said.end === item.end.end
      changes.note(moving, isOwn && item.hookMs ? { node, freeInMs: item.hookMs } : undefined)
      return 'ok'
    })
    changes.heard(heard)
    if (await changes.write(session)) hints.push({ kind: 'due', at: now })
    await dropDone(
      session,
      done.filter(({ id, token }) => tokens.get(id) === token).map(({ id }) => id),
    )
    return { answers, hints, now, isFull }
  })
}

/** The tokens of the claims that stand, locked in order. Later statements see rows as new as the locks. */
async function lockClaims(session: Session, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const sql = 'SELECT id, token FROM punctual.claim WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE'
  const rows = await session.rows<{ id: string; token: string }>(sql, [column([...new Set(ids)])])
  return new Map(rows.map(({ id, token }) => [id, token]))
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
