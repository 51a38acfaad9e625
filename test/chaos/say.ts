import { writeSync } from 'node:fs'

/** Tells the test something, at once: a process that is killed next has still said it. */
export function say(what: string, fields: object): void {
  writeSync(1, `${JSON.stringify({ what, ...fields })}\n`)
}
