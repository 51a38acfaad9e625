import { createInterface } from 'node:readline/promises'
import { PunctualError } from '../errors.ts'

/** Gets a person's consent to what cannot be taken back, unless `--yes` has given it. */
export async function confirm(what: string, yes: boolean | undefined): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new PunctualError('config.invalid', `${what} Nobody is there to confirm it: add --yes`, { field: 'yes' })
  const prompt = createInterface({ input: process.stdin, output: process.stderr })
  const stop = new AbortController()
  prompt.on('SIGINT', () => stop.abort())
  try {
    const answer = await prompt.question(`${what} Go on? [y/N] `, { signal: stop.signal }).catch(() => '')
    if (/^y(es)?$/i.test(answer.trim())) return
  } finally {
    prompt.close()
  }
  throw new PunctualError('config.invalid', 'Nothing was done', { field: 'yes' })
}
