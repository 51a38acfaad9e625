import { once } from 'node:events'
import { progressLine } from '../progress.ts'

/** Writes an export to standard output, and on a terminal how many lines it has written. */
export async function printExport(response: Response): Promise<void> {
  const progress = progressLine()
  let lines = 0
  for await (const chunk of response.body ?? []) {
    for (const byte of chunk) if (byte === 10) lines += 1
    if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
    progress.show(`${lines} lines`)
  }
  progress.end()
}
