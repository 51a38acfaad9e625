import { setTimeout as wait } from 'node:timers/promises'
import { createPunctual, type Punctual } from '../client/punctual.ts'
import { isTransient } from '../engine/node/transient.ts'
import { version } from '../engine/node/version.ts'
import { firstToken } from '../http/access/first-token.ts'
import { isLoopback } from '../http/access/origin.ts'
import { createHandler } from '../http/handler.ts'
import type { Logger } from '../model/context.ts'
import { announceEvents } from './announce-events.ts'
import { shownBrokerUrl } from './broker-url.ts'
import { addBuiltIns, type BuiltInOptions, namedBroker } from './built-ins.ts'
import { type HttpServer, listen } from './http-server.ts'
import { type JobsFile, loadJobsFile } from './jobs-file.ts'
import { type LogForm, lineLogger } from './log.ts'
import { bold, print } from './print.ts'
import { aborted, stopSignal } from './stop-signal.ts'
import { openStoreUrl, shownStoreUrl } from './store-url.ts'

const setupRetryMs = 1000
const noJobs: JobsFile = { definitions: [], setup: undefined }

export interface ServeOptions extends BuiltInOptions {
  readonly store: string
  /** None: only built-in jobs run. */
  readonly jobs?: string
  readonly host: string
  readonly port: number
  readonly concurrency?: number
  readonly label?: string
  readonly log?: LogForm
}

/** Runs the jobs of a file until the process gets a signal to stop. */
export async function serve(options: ServeOptions): Promise<void> {
  const { store, concurrency, label } = options
  const log = lineLogger(process.stderr, options.log)
  const file = options.jobs === undefined ? noJobs : await loadJobsFile(options.jobs)
  const broker = await namedBroker(options)
  const punctual = createPunctual({
    store: await openStoreUrl(store),
    jobs: file.definitions,
    log,
    ...(concurrency !== undefined && { concurrency }),
  })
  announceEvents(punctual, log)
  const builtIns = addBuiltIns(punctual, broker, log, options)
  const isOpen = isLoopback(options.host)
  const server = await listen(createHandler(punctual, { log, open: isOpen, ...(label !== undefined && { label }) }), options)
  const stop = stopSignal(punctual)
  try {
    builtIns.start()
    await punctual.start()
    print(welcome(server, options, file, isOpen))
    if (!isOpen) await printFirstToken(punctual, log, stop)
    await Promise.race([runSetup(file, punctual, log, stop), aborted(stop)])
    await aborted(stop)
    log.info('Stopping: waiting for running work', { running: punctual.depth.running })
  } finally {
    await builtIns.stop()
    await punctual.close()
    await builtIns.close()
    await server.close()
  }
  log.info('Stopped')
}

/** Access from other machines needs a token: the first start makes one and shows it once. */
async function printFirstToken(punctual: Punctual, log: Logger, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    try {
      const secret = await firstToken(punctual)
      if (secret) print(`\nAdmin token, shown only this once:\n  ${bold(secret)}`)
      return
    } catch (error) {
      if (!isTransient(error)) throw error
      log.warn('The first token waits for the store', { error: (error as Error).message, retryInMs: setupRetryMs })
      await wait(setupRetryMs, undefined, { signal: stop }).catch(() => {})
    }
  }
}

/** A store that is away is waited for; any other failure of `setup` ends the command. */
async function runSetup({ setup }: JobsFile, punctual: Punctual, log: Logger, stop: AbortSignal): Promise<void> {
  while (setup && !stop.aborted) {
    try {
      await setup(punctual)
      return
    } catch (error) {
      if (!isTransient(error)) throw error
      log.warn('setup waits for the store', { error: (error as Error).message, retryInMs: setupRetryMs })
      await wait(setupRetryMs, undefined, { signal: stop }).catch(() => {})
    }
  }
}

function welcome(
  { url }: HttpServer,
  { store, jobs, broker, commands }: ServeOptions,
  { definitions }: JobsFile,
  isOpen: boolean,
): string {
  // A job with a schema may refuse to run without a payload.
  const triggered = definitions.find(({ options }) => !options.payload)
  const curl = isOpen ? 'curl' : 'curl -H "Authorization: Bearer $PUNCTUAL_TOKEN"'
  const shown = shownStoreUrl(store)
  const lines = [
    `${bold(`Punctual ${version}`)} runs at ${bold(url)}`,
    '',
    `  store  ${shown}`,
    `  jobs   ${jobs === undefined ? 'none but the built-in ones' : `${definitions.map(({ name }) => name).join(', ')} (${jobs})`}`,
    ...(broker === undefined
      ? []
      : [`  broker ${shownBrokerUrl(broker)}${commands === undefined ? '' : `, commands from ${commands}`}`]),
    '',
    'Try next:',
    `  ${curl} ${url}api/v1/jobs`,
    `  ${curl} '${url}api/v1/occurrences?limit=5'`,
    `  curl ${url}readyz`,
    ...(store === 'memory:' || !triggered
      ? []
      : [`  npx punctual trigger ${triggered.name} --store ${/[?&]/.test(shown) ? `'${shown}'` : shown}`]),
    '',
    'Ctrl-C stops it.',
  ]
  return lines.join('\n')
}
