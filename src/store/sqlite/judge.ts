// What becomes of an occurrence that is due: it runs, waits, or is passed over.
import type { Hold } from '../../model/limit.ts'
import type { WaitRecord } from '../../model/occurrence.ts'
import { fromJson } from '../rows/json.ts'
import type { PassedOccurrence } from '../store.ts'
import type { DueRow } from './due.ts'
import { Holds } from './holds.ts'
import type { Pauses } from './pauses.ts'
import type { Transaction } from './transaction.ts'

export type Verdict = 'run' | WaitRecord | Pick<PassedOccurrence, 'state' | 'reason'>

export const tooLate = { state: 'missed', reason: 'not started in time' } as const

export class Judge {
  readonly #tx: Transaction
  readonly #pauses: Pauses
  readonly #holds: Holds

  constructor(tx: Transaction, pauses: Pauses) {
    this.#tx = tx
    this.#pauses = pauses
    this.#holds = new Holds(tx)
  }

  /** Most rows have no limits of any kind, and for them nothing is asked. */
  verdict(row: DueRow): Verdict {
    return row[12] === null && row[15] === null && this.#pauses.isEmpty ? 'run' : this.#weigh(row)
  }

  #weigh(row: DueRow): Verdict {
    const [ref, id, series, , , source, , , , , , , holds, , , startWithinMs, scheduledAt, , , dueAt, turn] = row
    const { now } = this.#tx
    if (startWithinMs !== null && turn === 1 && now > dueAt + startWithinMs) return tooLate
    if (!this.#pauses.isEmpty) {
      const of = this.#tx.dictionary.seriesByRef(series)
      const isPlanned = source === 'schedule' || source === 'recovery'
      if (turn === 1 && isPlanned && this.#pauses.at(of, scheduledAt)) return { state: 'skipped', reason: 'paused' }
      const pause = this.#pauses.at(of, now)
      if (pause) return { reason: 'pause', key: null, wakeAt: pause.to }
    }
    if (holds === null) return 'run'
    const grant = this.#holds.acquire({ ref, id, turn, holds: fromJson<readonly Hold[]>(holds) ?? [] })
    if ('granted' in grant) return 'run'
    return 'wait' in grant ? grant.wait : { state: 'skipped', reason: `overlap: ${grant.skip}` }
  }
}
