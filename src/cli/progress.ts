// One line on standard error that is written over again and again: on a terminal only.
import { setTimeout as wait } from 'node:timers/promises'
import type { WireOperation } from '../http/wire.ts'
import type { Connection } from './connection.ts'

interface ProgressLine {
  show(text: string): void
  /** Removes the line. */
  end(): void
}

const everyMs = 100

/** Where standard output is the same terminal, as with an export without a file, the line would mix with it. */
export function progressLine(isShown = process.stderr.isTTY && !process.stdout.isTTY): ProgressLine {
  if (!isShown) return { show: () => {}, end: () => {} }
  let last = 0
  return {
    show: (text) => {
      if (Date.now() - last < everyMs) return
      last = Date.now()
      process.stderr.write(`\r\u001b[K${text}`)
    },
    end: () => process.stderr.write('\r\u001b[K'),
  }
}

/** A share from 0 to 1 as a bar. */
function bar(done: number, width = 30): string {
  const full = Math.round(Math.min(1, Math.max(0, done)) * width)
  return `[${'█'.repeat(full)}${'░'.repeat(width - full)}] ${String(Math.floor(done * 100)).padStart(3)} %`
}

const pollMs = 500

/** Waits until an operation has ended, and shows how far it is. */
export async function watchOperation(connection: Connection, id: string): Promise<WireOperation> {
  const line = progressLine(process.stderr.isTTY)
  for (;;) {
    const one = await connection.call('operations.get', { params: { id } })
    if (one.endedAt !== null || one.state === 'dead') {
      line.end()
      return one
    }
    line.show(`${bar(one.done ?? 0)} ${one.message ?? one.state}`)
    await wait(pollMs)
  }
}
