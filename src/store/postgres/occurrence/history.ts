// Turns and attempts of occurrences.
import type { AttemptRecord, TurnRecord } from '../../../model/occurrence.ts'
import { type AttemptRow, attemptRecord, type TurnRow, turnRecord } from '../../rules/sql/turn-row.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'

export interface History {
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
}

interface OfOne {
  readonly ref: number
}

export const noHistory: History = { turns: [], attempts: [] }

/** The histories of these occurrences, in order. Those without an ended turn or attempt are left out. */
export async function readHistories(session: Session, refs: readonly number[]): Promise<ReadonlyMap<number, History>> {
  if (refs.length === 0) return new Map()
  const values = [column(refs)]
  const [turns, attempts] = await Promise.all([
    session.rows<TurnRow & OfOne>('SELECT * FROM punctual.turn WHERE ref = ANY($1::bigint[]) ORDER BY ref, turn', values),
    session.rows<AttemptRow & OfOne>('SELECT * FROM punctual.attempt WHERE ref = ANY($1::bigint[]) ORDER BY ref, seq', values),
  ])
  const histories = new Map<number, { turns: TurnRecord[]; attempts: AttemptRecord[] }>()
  const of = (ref: number) => {
    const known = histories.get(ref) ?? { turns: [], attempts: [] }
    histories.set(ref, known)
    return known
  }
  for (const row of turns) of(row.ref).turns.push(turnRecord(row))
  for (const row of attempts) of(row.ref).attempts.push(attemptRecord(row))
  return histories
}
