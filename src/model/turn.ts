import type { TurnRecord } from './occurrence.ts'

/** An end row of which only the manner and the time are known. */
export function bareEnd(end: TurnRecord['end'], endedAt: number, more: Partial<TurnRecord> = {}): Omit<TurnRecord, 'turn'> {
  return {
    end,
    node: null,
    startedAt: null,
    endedAt,
    result: null,
    error: null,
    attempt: null,
    settings: null,
    tasks: null,
    reason: null,
    ...more,
  }
}

/** How often it was lost with its node or overran, since a person last gave it another chance. */
export function recoveries(turns: readonly TurnRecord[]): number {
  const since = turns.findLastIndex((turn) => turn.end === 'dead') + 1
  return turns.slice(since).filter((turn) => turn.end === 'lost' || turn.end === 'stale').length
}

/** Whether an attempt may have begun in a turn with this end. A lost turn may have begun. */
export function mayHaveBegun({ end, startedAt }: Pick<TurnRecord, 'end' | 'startedAt'>): boolean {
  return startedAt !== null || end === 'lost' || end === 'stale' || end === 'parked'
}
