// Turns and attempts of occurrences.
import type { AttemptRecord, TurnRecord } from '../../../model/occurrence.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import { type AttemptRow, attemptColumns, attemptRecord, type TurnRow, turnColumns, turnRecord } from '../rows/turn-row.ts'

export interface History {
  readonly turns: readonly TurnRecord[]
  readonly attempts: readonly AttemptRecord[]
}

export const noHistory: History = { turns: [], attempts: [] }

/** The histories of these occurrences, in order. Those without an ended turn or attempt are left out. */
export async function readHistories(session: Session, refs: readonly number[]): Promise<ReadonlyMap<number, History>> {
  if (refs.length === 0) return new Map()
  const values = [column(refs)]
  const [turns, attempts] = await Promise.all([
    session.all<[...TurnRow<string>, ref: number]>(
      `SELECT ${turnColumns}, t.ref FROM punctual.turn t WHERE t.ref = ANY($1::bigint[]) ORDER BY t.ref, t.turn`,
      values,
    ),
    session.all<[...AttemptRow, ref: number]>(
      `SELECT ${attemptColumns}, ref FROM punctual.attempt WHERE ref = ANY($1::bigint[]) ORDER BY ref, seq`,
      values,
    ),
  ])
  const histories = new Map<number, { turns: TurnRecord[]; attempts: AttemptRecord[] }>()
  const of = (ref: number) => {
    const known = histories.get(ref) ?? { turns: [], attempts: [] }
    histories.set(ref, known)
    return known
  }
  for (const row of turns) of(row[11]).turns.push(turnRecord(row, (node) => node))
  for (const row of attempts) of(row[9]).attempts.push(attemptRecord(row))
  return histories
}
