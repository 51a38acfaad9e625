import { covers, isPausedAt, type PauseRecord, type PauseScope } from '../../model/pause.ts'
import { type PauseRow, pauseColumns, pauseRecord } from '../rows/pause-row.ts'
import type { PauseAnswer, PauseRequest } from '../store.ts'
import { wakePaused } from './place.ts'
import type { Transaction } from './transaction.ts'

export function pause(tx: Transaction, { tenant, job, open }: PauseRequest): PauseAnswer {
  const { now } = tx
  const current = openPause(tx, { tenant, job })
  if (!open && !current) return { outcome: 'unchanged', pause: null }
  const wanted = open
    ? { to: open.until === null ? null : tx.dueAt(open.until), reason: open.reason, by: open.by }
    : { to: now, reason: current?.reason ?? null, by: current?.by ?? null }
  if (current && current.to === wanted.to && current.reason === wanted.reason && current.by === wanted.by)
    return { outcome: 'unchanged', pause: current }
  const changed = { ...(current ?? { id: newId(tx), tenant, job, from: now }), ...wanted }
  tx.run(
    `INSERT INTO punctual_pause (${pauseColumns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
      ON CONFLICT (id) DO UPDATE SET to_at = ?5, reason = ?6, by_whom = ?7`,
    changed.id,
    tenant,
    job,
    changed.from,
    changed.to,
    changed.reason,
    changed.by,
  )
  tx.run("UPDATE punctual_meta SET value = value + 1 WHERE name = 'pause_revision'")
  wakePaused(tx)
  tx.hints.push({ kind: 'job' }, { kind: 'due', at: now })
  return { outcome: open ? 'paused' : 'resumed', pause: changed }
}

function newId(tx: Transaction): number {
  return (tx.one<[number]>('SELECT coalesce(max(id), 0) + 1 FROM punctual_pause') as [number])[0]
}

const selectPause = `SELECT ${pauseColumns} FROM punctual_pause`

/** The pause of exactly this scope that is open now, or will be. */
function openPause(tx: Transaction, { tenant, job }: PauseScope): PauseRecord | null {
  const row = tx.one<PauseRow>(
    `${selectPause} WHERE tenant IS ? AND job IS ? AND (to_at IS NULL OR to_at > ?) ORDER BY id LIMIT 1`,
    tenant,
    job,
    tx.now,
  )
  return row ? pauseRecord(row) : null
}

export function readPauses(tx: Transaction, { since }: { since?: number }): readonly PauseRecord[] {
  return since === undefined
    ? tx.all<PauseRow>(`${selectPause} ORDER BY id`).map(pauseRecord)
    : tx.all<PauseRow>(`${selectPause} WHERE to_at IS NULL OR to_at > ? ORDER BY id`, since).map(pauseRecord)
}

export function pauseRevision(tx: Transaction): number {
  return (tx.one<[number]>("SELECT value FROM punctual_meta WHERE name = 'pause_revision'") as [number])[0]
}

/** All pauses as of a revision. Who finds the same revision in the file need not read them again. */
export class Pauses {
  readonly revision: number
  readonly #all: readonly PauseRecord[]
  readonly #bySeries = new Map<number, readonly PauseRecord[]>()

  /** The pauses in force for the transaction. Only verbs that change none may ask: an undone change must not be remembered. */
  static of(tx: Transaction, revision = pauseRevision(tx)): Pauses {
    const known = tx.connection.pauses
    if (known?.revision === revision) return known
    const read = new Pauses(revision, revision === 0 ? [] : readPauses(tx, {}))
    tx.connection.pauses = read
    return read
  }

  constructor(revision: number, all: readonly PauseRecord[]) {
    this.revision = revision
    this.#all = all
  }

  get isEmpty(): boolean {
    return this.#all.length === 0
  }

  /** The pauses that cover a job, at whatever time. */
  ofSeries({ ref, tenant, job }: { ref: number; tenant: string; job: string }): readonly PauseRecord[] {
    const known = this.#bySeries.get(ref)
    if (known) return known
    const found = this.#all.filter((one) => covers(one, tenant, job))
    this.#bySeries.set(ref, found)
    return found
  }

  at(series: { ref: number; tenant: string; job: string }, at: number): PauseRecord | undefined {
    return this.ofSeries(series).find((one) => isPausedAt(one, series.tenant, series.job, at))
  }
}
