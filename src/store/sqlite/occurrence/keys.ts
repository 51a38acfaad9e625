// Releases of limit keys. Only a claim grants them: see claim/door.ts.
import { givenUp, releasesAtClaim } from '../../rules/door.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { Entry } from './entry.ts'

/** Gives up what the entry was granted, but for the first `kept` limits. */
export function giveUpKeys(tx: Transaction, entry: Entry, isClaimed = false, kept = 0): void {
  const { record, granted } = entry
  if (granted === 0) return
  for (const key of givenUp({ limits: record.limits, granted, kept }, isClaimed)) release(tx, key, 1)
  entry.granted = Math.min(granted, kept)
}

/** An entry that leaves a line may let the next come first. */
export function revisitLine(tx: Transaction, { place, wait }: Entry): void {
  if (place === 'waiting' && wait?.key != null) release(tx, wait.key, 0)
}

function release(tx: Transaction, key: string, slots: 0 | 1): void {
  tx.releases.push({ key, slots, freeAt: tx.now, ref: null })
}

/** Claimed work takes part in its rates until their windows have passed, or until it is given back without a start. */
export function countRates(tx: Transaction, { ref, record, turn }: Entry, promptMs: number | undefined): void {
  const starts = releasesAtClaim(record.limits, tx.now, promptMs)
  // Starts of earlier turns have happened.
  if (turn > 1 && starts.length > 0) tx.run('UPDATE punctual_release SET ref = NULL WHERE ref = ?', ref)
  for (const start of starts) tx.releases.push({ ...start, ref })
}

/** A start that did not happen takes no part in its rates. */
export function returnRates(tx: Transaction, { ref, limits }: Entry): void {
  if (limits.some(({ perMs }) => perMs !== undefined))
    tx.run('UPDATE punctual_release SET free_at = ?, ref = NULL WHERE ref = ?', tx.now, ref)
}

/** Writes what no claim of the transaction has counted. News for those who wait for one of the keys. */
export function writeReleases(tx: Transaction): void {
  const insert = tx.statement('INSERT INTO punctual_release (key, slots, free_at, ref) VALUES (?, ?, ?, ?)')
  const freed = new Set<string>()
  for (const { key, slots, freeAt, ref } of tx.releases) {
    insert.run(key, slots, freeAt, ref)
    if (freeAt <= tx.now) freed.add(key)
  }
  tx.releases = []
  if (freed.values().some((key) => hasLine(tx, key))) tx.hintDue(tx.now)
}

function hasLine(tx: Transaction, key: string): boolean {
  return tx.one('SELECT 1 FROM punctual_waiting WHERE key = ? LIMIT 1', key) !== undefined
}
