import type { AttemptLog, OccurrenceHistory, Progress, WaitRecord } from '../../model/occurrence.ts'
import type { Which } from '../store.ts'
import { running } from './claim/claim-row.ts'
import type { Transaction } from './connection/transaction.ts'
import { find } from './find.ts'
import { startOf } from './occurrence/ends.ts'
import { attemptsOf, type Entry, grantedEntries, readEntry, turnsOf } from './occurrence/entry.ts'

export function get(tx: Transaction, which: Which): OccurrenceHistory | null {
  const entry = find(tx, which)
  if (!entry) return null
  const { ref, series, record, state, dueAt, node } = entry
  return {
    record,
    state,
    dueAt,
    node,
    runningSince: state === 'running' ? startOf(tx, entry) : null,
    turns: turnsOf(tx, series, ref),
    attempts: attemptsOf(tx, ref),
    progress: progressOf(tx, ref),
    logs: logsOf(tx, ref),
    wait: waitOf(tx, entry),
    blockers: blockers(tx, entry),
  }
}

function progressOf(tx: Transaction, ref: number): Progress | null {
  const row = tx.one<Progress>('SELECT task, done, message, at FROM punctual_progress WHERE ref = ?', ref)
  return row ? { ...row } : null
}

function logsOf(tx: Transaction, ref: number): readonly AttemptLog[] {
  const select = 'SELECT turn, task, n, text FROM punctual_log WHERE ref = ? ORDER BY turn, task, n'
  return tx.all<AttemptLog>(select, ref).map((row) => ({ ...row }))
}

/** Of a rate: when its next slot is free. */
function waitOf(tx: Transaction, { wait }: Entry): WaitRecord | null {
  if (wait?.reason !== 'rate') return wait
  const next = 'SELECT free_at FROM punctual_release WHERE key = ? ORDER BY free_at LIMIT 1'
  return { ...wait, wakeAt: tx.one<{ free_at: number }>(next, wait.key)?.free_at ?? null }
}

/** Of those that have been granted the key it waits for, at most ten ids. Slots of rates have no holder. */
function blockers(tx: Transaction, { wait }: Entry): readonly string[] {
  if (wait?.key == null || wait.reason === 'rate') return []
  const runningEntries = running(tx)
    .filter(({ granted }) => granted > 0)
    .map(({ ref }) => readEntry(tx, ref) as Entry)
  return [...runningEntries, ...grantedEntries(tx)]
    .filter(({ limits, granted }) => limits.slice(0, granted).some(({ key }) => key === wait.key))
    .sort((a, b) => a.ref - b.ref)
    .slice(0, 10)
    .map(({ id }) => id)
}
