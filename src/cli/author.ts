import { userInfo } from 'node:os'

/** The author of a change: the given name, else the user of this machine. */
export function authorOf(by: string | undefined): string {
  return by ?? userName()
}

/** A process may run under an id that the machine has no name for. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
