import type { Session } from './session.ts'

/** Whether this transaction now holds a lock that one at a time may hold. It never waits. */
export async function tryLock(session: Session, name: string): Promise<boolean> {
  const [row] = await session.rows<{ is_ours: boolean }>('SELECT pg_try_advisory_xact_lock(hashtext($1::text)) AS is_ours', [
    `punctual.${name}`,
  ])
  return row?.is_ours === true
}
