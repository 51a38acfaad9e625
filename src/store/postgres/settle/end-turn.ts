import { goesOn, nextTurnDue } from '../../rules/settle.ts'
import type { Due, SettleItem } from '../../store.ts'
import type { Changes, Moving } from '../changes/changes.ts'

/** A turn that ends. */
interface EndingTurn {
  readonly moving: Moving
  readonly node: string
  /** The end to write, where it is not the reported one. */
  readonly end?: SettleItem['end']
  /** The store's time, where it is known. */
  readonly now?: number
}

/** Notes the end of an item's turn. Returns when work that follows is due. */
export function endTurn(changes: Changes, item: SettleItem, ending: EndingTurn): readonly Due[] {
  const { moving, node, now = Number.NaN } = ending
  const { end, startedAt, endedAt, attempt, settings, tasks, reason, error, result } = ending.end ?? item.end
  const row = { end, turn: moving.turn, node, startedAt, endedAt, attempt, settings, tasks, reason, error, result }
  changes.attempts(moving.ref, item.attempts)
  changes.logs(moving.ref, item.logs)
  changes.endTurn(moving, row)
  if (!goesOn(end)) {
    // A cancel that the node does not know of is for any node to report.
    const isOwn = end === item.end.end
    changes.note(moving, isOwn && item.hookMs ? { node, freeInMs: item.hookMs } : undefined)
    // The message about the end is due at once.
    return moving.record.publish === undefined ? [] : [{ in: 0 }]
  }
  const at = nextTurnDue(item, moving, now)
  const due = Number.isNaN(at) ? { in: item.delayMs } : at
  changes.nextTurn(moving, row, due)
  return [due]
}

export function dueAt(due: Due, now: number): number {
  return typeof due === 'number' ? due : now + due.in
}
