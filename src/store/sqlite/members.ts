// What the claimer must know of each member.
import type { AttemptRecord, TurnRecord } from '../../model/occurrence.ts'
import type { SettingsDiff } from '../../model/settings.ts'
import { recoveries } from '../../model/turn.ts'
import { fromJson } from '../rows/json.ts'
import { type OccurrenceRow, occurrenceColumns, occurrenceRecord } from '../rows/occurrence-row.ts'
import { type AttemptRow, attemptColumns, attemptRecord, type TurnRow, turnColumns, turnRecord } from '../rows/turn-row.ts'
import type { ClaimMember } from '../store.ts'
import type { DueRow } from './due.ts'
import type { Member } from './place.ts'
import type { Transaction } from './transaction.ts'

/** Only a later turn, or a claim made again, has a history. */
export function describe(tx: Transaction, rows: readonly DueRow[], isRepeat = false): ClaimMember[] {
  const facts = new JobFacts(tx)
  return rows.map((row) => {
    const [ref, series, source, dueAt, turn] = [row[0], row[2], row[5], row[19], row[20]]
    const isPlanned = source === 'schedule' || source === 'recovery' || source === 'backfill'
    const job = facts.of(series, isPlanned ? row[4] : null)
    const record = occurrenceRecord(tx.dictionary, row)
    if (turn === 1 && !isRepeat) return { ref, turn, record, dueAt, recoveries: 0, ...job, turns: [], attempts: [] }
    const turns = turnsOf(tx, series, ref)
    return { ref, turn, record, dueAt, recoveries: recoveries(turns), ...job, turns, attempts: attemptsOf(tx, ref) }
  })
}

/** The row of a member that was taken before. */
export function readRow(tx: Transaction, { ref, dueAt, turn }: Member): DueRow {
  const row = tx.one<OccurrenceRow>(
    `SELECT ${occurrenceColumns} FROM punctual_occurrence o WHERE o.ref = ?`,
    ref,
  ) as OccurrenceRow
  return [...row, dueAt, turn, 0]
}

type Facts = Pick<ClaimMember, 'jobSettings' | 'lastRunAt'>

/** What jobs say, asked once for each job and version. */
class JobFacts {
  readonly #tx: Transaction
  readonly #inForce = new Map<number, Facts>()
  readonly #ofVersion = new Map<string, Facts>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** `version`: that of a planned occurrence; null for enqueued work, which goes by what is in force. */
  of(series: number, version: number | null): Facts {
    if (version === null) return remembered(this.#inForce, series, () => this.#read(series, settingsInForce, this.#tx.now))
    return remembered(this.#ofVersion, `${series} ${version}`, () => this.#read(series, settingsOfVersion, version))
  }

  #read(series: number, settings: string, value: number): Facts {
    const [lastRunAt, text] = this.#tx.one<[number | null, string | null]>(
      `SELECT last_run_at, ${settings} FROM punctual_series s WHERE s.ref = ?1`,
      series,
      value,
    ) as [number | null, string | null]
    return { jobSettings: fromJson<SettingsDiff>(text), lastRunAt }
  }
}

const settingsOfVersion = "(SELECT v.spec -> '$.settings' FROM punctual_job_version v WHERE v.series = ?1 AND v.version = ?2)"
// The newest of the versions that have become effective; the first is in force from ever.
const settingsInForce = `(SELECT v.spec -> '$.settings' FROM punctual_job_version v
  WHERE v.series = ?1 AND (v.effective_at <= ?2 OR v.version = 1) ORDER BY v.version DESC LIMIT 1)`

function remembered<Key, Value>(values: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = values.get(key)
  if (known !== undefined) return known
  const made = make()
  values.set(key, made)
  return made
}

export function turnsOf(tx: Transaction, series: number, ref: number): TurnRecord[] {
  return tx
    .all<TurnRow<string>>(
      `SELECT ${turnColumns} FROM punctual_turn t WHERE t.series = ? AND t.ref = ? ORDER BY t.turn`,
      series,
      ref,
    )
    .map((row) => turnRecord(row, String))
}

export function attemptsOf(tx: Transaction, ref: number): AttemptRecord[] {
  return tx.all<AttemptRow>(`SELECT ${attemptColumns} FROM punctual_attempt WHERE ref = ? ORDER BY seq`, ref).map(attemptRecord)
}
