import { PunctualError } from '../../errors.ts'
import type { AttemptRecord, TurnRecord } from '../../model/occurrence.ts'
import type { SettingsDiff } from '../../model/settings.ts'
import type { ClaimAnswer, ClaimMember, ClaimRequest } from '../store.ts'
import { findClaim, insertClaim, type KnownClaims, unended } from './claims.ts'
import type { Member } from './ending.ts'
import { type Lane, mergeLanes } from './lanes.ts'
import {
  type AttemptRow,
  attemptColumns,
  attemptRecord,
  fromJson,
  type OccurrenceRow,
  occurrenceColumns,
  occurrenceRecord,
  type TurnRow,
  turnColumns,
  turnRecord,
} from './records.ts'
import type { Transaction } from './transaction.ts'

export function claim(tx: Transaction, known: KnownClaims, request: ClaimRequest): ClaimAnswer {
  const { now } = tx
  const standing = findClaim(tx, known, request.id)
  if (standing && (standing.token !== request.token || standing.node !== request.node)) {
    throw new PunctualError('claim.lost', `Claim ${request.id} belongs to another`, { claim: request.id })
  }
  const rows = standing
    ? unended(tx, standing).map((member) => readRow(tx, member))
    : take(tx, known, request, Math.min(now, request.dueBy ?? now))
  return { now, members: describe(tx, rows, standing !== null), nextDue: nextDue(tx, request.kinds) }
}

export function nextDue(tx: Transaction, kinds: readonly string[]): number | null {
  const dues = heads(tx, kinds).map((head) => head.dueAt)
  return dues.length === 0 ? null : Math.min(...dues)
}

interface Head {
  readonly kind: number
  readonly priority: number
  readonly dueAt: number
}

/** The earliest row of each kind and priority, by skipping from one to the next: no other row is read. */
function heads(tx: Transaction, kinds: readonly string[]): Head[] {
  const next = tx.statement(
    'SELECT priority, due_at FROM punctual_ready WHERE kind = ? AND priority > ? ORDER BY priority, due_at LIMIT 1',
  )
  const found: Head[] = []
  for (const name of new Set(kinds)) {
    const kind = tx.dictionary.findKind(name)
    let row = kind === null ? undefined : next.get(kind, -1)
    while (row) {
      const [priority, dueAt] = row as unknown as [number, number]
      found.push({ kind: kind as number, priority, dueAt })
      row = next.get(kind, priority)
    }
  }
  return found
}

type ClaimRow = [...OccurrenceRow, dueAt: number, turn: number, retrying: number]

function take(tx: Transaction, known: KnownClaims, { id, token, node, kinds, limit }: ClaimRequest, dueBy: number): ClaimRow[] {
  if (!tx.one('SELECT 1 FROM punctual_node WHERE boot = ?', node))
    throw new PunctualError('claim.lost', `Node ${node} is not known to the store and cannot claim`, { node })
  const rows = dueRows(tx, kinds, dueBy, limit)
  if (rows.length === 0) return []
  const members = new Map<number, Member>()
  const remove = tx.statement('DELETE FROM punctual_ready WHERE kind = ? AND priority = ? AND due_at = ? AND ref = ?')
  for (const row of rows) {
    const [ref, , series, kind, , , key, unique, , , , priority, firstDueAt, , , dueAt, turn, retrying] = row
    remove.run(kind, priority, dueAt, ref)
    tx.tally(series, retrying ? 'retrying' : 'pending', 'running')
    members.set(ref, {
      ref,
      series,
      kind,
      priority,
      turn,
      dueAt,
      firstDueAt,
      liveKey: unique === 'live' ? key : null,
      isPlanned: false,
    })
  }
  const claim = { id, token, node, members }
  insertClaim(tx, claim)
  known.add(claim)
  return rows
}

/** What is due, by priority, then due, then age. */
function dueRows(tx: Transaction, kinds: readonly string[], dueBy: number, limit: number): ClaimRow[] {
  const due = heads(tx, kinds).filter((head) => head.dueAt <= dueBy)
  const rows: ClaimRow[] = []
  for (let priority = 0; priority < 10 && rows.length < limit; priority++) {
    const lanes = due.filter((head) => head.priority === priority).map(({ kind }) => readyLane(tx, kind, priority, dueBy))
    if (lanes.length > 0) rows.push(...mergeLanes(lanes, isEarlier, limit - rows.length))
  }
  return rows
}

const selectDue = `SELECT ${occurrenceColumns}, r.due_at, r.turn, r.retrying
  FROM punctual_ready r CROSS JOIN punctual_occurrence o ON o.ref = r.ref
  WHERE r.kind = ? AND r.priority = ? AND r.due_at <= ? AND (r.due_at, r.ref) > (?, ?) ORDER BY r.due_at, r.ref LIMIT ?`

function readyLane(tx: Transaction, kind: number, priority: number, dueBy: number): Lane<ClaimRow> {
  return {
    page: (last, limit) =>
      tx.all<ClaimRow>(selectDue, kind, priority, dueBy, last?.[15] ?? Number.NEGATIVE_INFINITY, last?.[0] ?? 0, limit),
  }
}

function isEarlier(a: ClaimRow, b: ClaimRow): boolean {
  return a[15] < b[15] || (a[15] === b[15] && a[0] < b[0])
}

function readRow(tx: Transaction, { ref, dueAt, turn }: Member): ClaimRow {
  const row = tx.one<OccurrenceRow>(
    `SELECT ${occurrenceColumns} FROM punctual_occurrence o WHERE o.ref = ?`,
    ref,
  ) as OccurrenceRow
  return [...row, dueAt, turn, 0]
}

/** What the claimer must know of each member. Only a later turn, or a claim made again, has a history. */
function describe(tx: Transaction, rows: readonly ClaimRow[], isRepeat = false): ClaimMember[] {
  const jobs = new Map<number, JobFacts>()
  return rows.map((row) => {
    const [ref, , series] = row
    const [dueAt, turn] = [row[15], row[16]]
    const job = jobs.get(series) ?? jobFacts(tx, series)
    jobs.set(series, job)
    const record = occurrenceRecord(tx.dictionary, row)
    if (turn === 1 && !isRepeat) return { ref, turn, record, dueAt, recoveries: 0, ...job, turns: [], attempts: [] }
    const turns = turnsOf(tx, series, ref)
    return { ref, turn, record, dueAt, recoveries: recoveries(turns), ...job, turns, attempts: attemptsOf(tx, ref) }
  })
}

type JobFacts = Pick<ClaimMember, 'jobSettings' | 'lastRunAt'>

function jobFacts(tx: Transaction, series: number): JobFacts {
  const [lastRunAt, settings] = tx.one<[number | null, string | null]>(
    `SELECT s.last_run_at, v.spec -> '$.settings' FROM punctual_series s LEFT JOIN punctual_job j ON j.series = s.ref
      LEFT JOIN punctual_job_version v ON v.series = j.series AND v.version = j.version WHERE s.ref = ?`,
    series,
  ) as [number | null, string | null]
  return { jobSettings: fromJson<SettingsDiff>(settings), lastRunAt }
}

export function turnsOf(tx: Transaction, series: number, ref: number): TurnRecord[] {
  return tx
    .all<TurnRow>(`SELECT ${turnColumns} FROM punctual_turn t WHERE t.series = ? AND t.ref = ? ORDER BY t.turn`, series, ref)
    .map(turnRecord)
}

export function attemptsOf(tx: Transaction, ref: number): AttemptRecord[] {
  return tx.all<AttemptRow>(`SELECT ${attemptColumns} FROM punctual_attempt WHERE ref = ? ORDER BY seq`, ref).map(attemptRecord)
}

/** How often it was lost or overran since a person last gave it another chance. */
export function recoveries(turns: readonly TurnRecord[]): number {
  const since = turns.findLastIndex((turn) => turn.end === 'dead') + 1
  return turns.slice(since).filter((turn) => turn.end === 'lost' || turn.end === 'stale').length
}
