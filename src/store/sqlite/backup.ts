import { existsSync, renameSync, rmSync } from 'node:fs'
import { PunctualError } from '../../errors.ts'
import { isBusy, storeFailure } from './connection/failure.ts'
import * as nodeSqlite from './connection/node-sqlite.ts'

/** All pages in one step: a copy in several would begin again with every write of other processes. */
const allPages = 0x7fffffff
const lockMs = 2000

/**
 * Copies a SQLite file as it is at one moment, while other processes write to it. The copy is checked before it gets its name.
 * A file that is there already stays as it is.
 */
export async function backupSqlite(path: string, target: string): Promise<void> {
  if (existsSync(target)) throw new PunctualError('config.invalid', `${target} exists; choose another name`, { field: 'to' })
  const partial = `${target}.partial`
  remove(partial)
  try {
    await copy(path, partial)
    checkCopy(partial)
    renameSync(partial, target)
  } catch (error) {
    if (isBusy(error))
      throw new PunctualError('store.busy', `${path} is locked by another process; stop it, or try again`, { path })
    throw storeFailure(error, path)
  } finally {
    remove(partial)
  }
}

/** A connection that only reads never resets the write-ahead log under a node that works. */
async function copy(path: string, partial: string): Promise<void> {
  const source = new nodeSqlite.DatabaseSync(path, { readOnly: true, timeout: lockMs })
  try {
    // The errors of a plain read name their cause; those of a backup do not.
    source.exec('SELECT count(*) FROM sqlite_master')
    await nodeSqlite.backup(source, partial, { rate: allPages })
  } finally {
    source.close()
  }
}

function checkCopy(partial: string): void {
  const copied = new nodeSqlite.DatabaseSync(partial)
  try {
    const fault = copied.prepare('PRAGMA quick_check(1)').get()?.quick_check
    if (fault !== 'ok') throw new PunctualError('store.corrupt', `The copy is damaged: ${String(fault)}`, { fault })
  } finally {
    copied.close()
  }
}

function remove(partial: string): void {
  for (const end of ['', '-wal', '-shm', '-journal']) rmSync(`${partial}${end}`, { force: true })
}
