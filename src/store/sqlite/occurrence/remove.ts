import { tombstoneOf } from '../../rules/tombstone.ts'
import type { Transaction } from '../connection/transaction.ts'
import { deleteOccurrence } from './delete.ts'
import type { Entry } from './entry.ts'

/** Deletes an ended occurrence. An id that may be used only once stays taken until then. */
export function remove(tx: Transaction, entry: Entry, until: number): void {
  const tombstone = tombstoneOf(entry.record, entry)
  if (tombstone) {
    tx.noteRow('punctual_tombstone')
    const values = [entry.id, until, tombstone.version] as const
    tx.run('INSERT OR REPLACE INTO punctual_tombstone (id, until, version) VALUES (?, ?, ?)', ...values)
  }
  deleteOccurrence(tx, entry)
}

/** The same for one whose `onComplete` may not have run: nobody runs it any more. */
export function removeWithHook(tx: Transaction, entry: Entry, until: number): void {
  tx.run('DELETE FROM punctual_hook_note WHERE ref = ?', entry.ref)
  remove(tx, entry, until)
}
