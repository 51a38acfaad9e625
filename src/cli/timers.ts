import process from 'node:process'
import { createPunctual } from '../client/punctual.ts'
import { PunctualError } from '../errors.ts'
import { isLoopback } from '../http/access/origin.ts'
import type { EnvelopeFormat } from '../timers/envelope.ts'
import { createTimers } from '../timers/timers.ts'
import { brokerOfUrl, shownBrokerUrl } from './broker-url.ts'
import { listen } from './http-server.ts'
import { lineLogger } from './log.ts'
import { print } from './print.ts'
import { aborted, stopSignal } from './stop-signal.ts'
import { openStoreUrl, shownStoreUrl } from './store-url.ts'
import { timerSettings } from './timer-settings.ts'
import { timersHandler } from './timers-http.ts'

export interface TimersCommandOptions {
  readonly store?: string
  readonly broker?: string
  readonly commands: string
  readonly events: string
  readonly envelope: EnvelopeFormat
  readonly commandsOnly?: boolean
  readonly firingOnly?: boolean
  readonly poll?: string
  readonly claimLimit?: number
  readonly concurrency: number
  readonly port?: number
  readonly host: string
}

/** Runs the timer service until the process gets a signal to stop, or an error that retrying cannot fix. */
export async function runTimers(given: TimersCommandOptions): Promise<void> {
  const { store, brokerUrl, poll, claimLimit } = timerSettings(given, process.env)
  const { commands, events, envelope, concurrency, commandsOnly, firingOnly, port, host } = given
  const log = lineLogger()
  const broker = await brokerOfUrl(brokerUrl)
  const punctual = createPunctual({
    store: await openStoreUrl(store),
    log,
    concurrency,
    ...(poll !== undefined && { poll }),
    ...(claimLimit !== undefined && { claimLimit }),
  })
  const { promise: failed, reject } = Promise.withResolvers<never>()
  failed.catch(() => {})
  const side = commandsOnly ? 'commands' : firingOnly ? 'firing' : 'both'
  const timers = createTimers({ punctual, broker, commands, events, envelope, side, onCritical: reject })
  const handler = timersHandler(punctual, timers, { isLocal: isLoopback(host), log })
  const server = port === undefined ? null : await listen(handler, { host, port })
  const stop = stopSignal(punctual)
  try {
    await punctual.start()
    // Refused credentials end the command here; a broker that is away is waited for.
    await broker.open().catch((error: unknown) => {
      if (!(error instanceof PunctualError) || error.code !== 'broker.unreachable') throw error
      log.warn('The broker is away; waiting for it', { error: error.message })
    })
    timers.start()
    print(
      `Timers run on ${shownStoreUrl(store)} and ${shownBrokerUrl(brokerUrl)}${server ? `, with health at ${server.url}` : ''}`,
    )
    await Promise.race([aborted(stop), failed])
    log.info('Stopping')
  } finally {
    await timers.stop()
    await punctual.close()
    await broker.close()
    await server?.close()
  }
}
