import { execFileSync } from 'node:child_process'
import process from 'node:process'

/** Whom a server runs as. */
export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL and pgbouncer refuse to run as root: tests of root start them as another user. Null: the current user. */
export function serverUser(): ServerUser | null {
  if (process.getuid?.() !== 0) return null
  const user = numbersOf('postgres') ?? numbersOf('nobody')
  if (user === null) throw new Error("There is neither a user 'postgres' nor 'nobody' to run a server as, and root may not.")
  return user
}

function numbersOf(name: string): ServerUser | null {
  try {
    const [uid, gid] = ['-u', '-g'].map((flag) =>
      Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] })),
    )
    return uid === undefined || gid === undefined ? null : { uid, gid }
  } catch {
    return null
  }
}
