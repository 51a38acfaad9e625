import type { Session } from './session.ts'

/** Whether this transaction now holds a lock that one at a time may hold. It never waits. Each schema has its own. */
export async function tryLock(session: Session, name: 'audit' | 'count_delta' | 'figure'): Promise<boolean> {
  // In a statement, `punctual.` becomes the schema's name.
  const sql = `SELECT pg_try_advisory_xact_lock(hashtext('punctual.${name}')) AS is_ours`
  const [row] = await session.rows<{ is_ours: boolean }>(sql)
  return row?.is_ours === true
}
