// The jobs file of the tests of serve, loaded by the process they start.
import { defineJob, interval, type Punctual } from 'punctual'

export const echo = defineJob<{ text: string }>('echo').task('say', ({ payload }) => payload.text)

/** Announces its end to a broker. */
export const billed = defineJob('billed', { publish: 'invoices' }, () => {})

/** Does not hear its signal. */
export const deaf = defineJob('deaf').task('wait', () => new Promise(() => {}))

export async function setup(punctual: Punctual): Promise<void> {
  await punctual.schedule(echo, interval('PT24H'), { name: 'prepared', payload: { text: 'again' } })
  process.stderr.write(`${JSON.stringify({ message: 'prepared by setup' })}\n`)
}
