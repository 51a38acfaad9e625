// The thread of log.ts: copies pages of the write-ahead log into the database with every message.
import { parentPort, workerData } from 'node:worker_threads'
import { DatabaseSync } from './node-sqlite.ts'

const { path, isCopying } = workerData as { path: string; isCopying: Int32Array }
const db = new DatabaseSync(path)
db.exec('PRAGMA busy_timeout = 0; PRAGMA wal_autocheckpoint = 0')
const copy = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')

parentPort?.on('message', () => {
  // Another process may be at it.
  try {
    copy.get()
  } finally {
    Atomics.store(isCopying, 0, 0)
  }
})
