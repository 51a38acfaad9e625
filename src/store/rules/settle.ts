// How a turn that its node ends goes on.
import { isEnd, stateAfter, type TurnEnd } from '../../model/lifecycle.ts'
import type { TurnRecord } from '../../model/occurrence.ts'
import type { SettleItem } from '../messages/claim.ts'

type End = SettleItem['end']

/** Whether another turn follows. */
export function goesOn(end: TurnEnd): boolean {
  return end === 'parked' || end === 'released'
}

/** Whether the occurrence is over with this turn, at least until a person steps in. */
export function isOver(end: TurnEnd): boolean {
  return isEnd(stateAfter[end]) || end === 'dead'
}

/** The end that is written. A cancel that was acknowledged while the turn ran is not undone by another turn. */
export function endToWrite(end: End, cancel: { readonly reason: string | null } | null): End {
  return cancel && goesOn(end.end) ? { ...end, end: 'canceled', reason: cancel.reason } : end
}

/** Whether an end row is the one that a repeated call writes again. */
export function isSameEnd(written: Pick<TurnRecord, 'end' | 'endedAt'>, again: End): boolean {
  const isSame = written.end === again.end || (written.end === 'canceled' && goesOn(again.end))
  return isSame && written.endedAt === again.endedAt
}

/** When the next turn is due. Work given back before its first start keeps its due time, and so its place in every line. */
export function nextTurnDue(
  { end, delayMs }: Pick<SettleItem, 'end' | 'delayMs'>,
  { hasBegun, dueAt }: { hasBegun: boolean; dueAt: number },
  now: number,
): number {
  const isUntouched = end.end === 'released' && end.startedAt === null && !hasBegun
  return isUntouched ? dueAt : now + delayMs
}
