import { setTimeout as wait } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { createPunctual, type Punctual } from '../../client/punctual.ts'
import { isTransient } from '../../engine/transient.ts'
import { version } from '../../engine/version.ts'
import { createHandler } from '../../http/handler.ts'
import type { Logger } from '../../model/context.ts'
import { announceEvents } from '../announce-events.ts'
import { type HttpServer, listen } from '../http-server.ts'
import { type JobsFile, loadJobsFile } from '../jobs-file.ts'
import { lineLogger } from '../log.ts'
import { example, storeOption, whole } from '../options.ts'
import { bold, print } from '../print.ts'
import { openStoreUrl } from '../store-url.ts'

const defaultPort = 3000
const setupRetryMs = 1000

interface ServeOptions {
  readonly store: string
  readonly jobs: string
  readonly host: string
  readonly port: number
  readonly concurrency?: number
}

export function addServe(root: Command): void {
  root
    .command('serve')
    .description(
      'Run the jobs of a file, and show them over HTTP on this machine. Ctrl-C waits for running work; a second one does not.',
    )
    .addOption(storeOption())
    .addOption(
      new Option('--jobs <file>', 'a module that exports jobs, and setup(punctual) where there is something to prepare')
        .env('PUNCTUAL_JOBS')
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--port <number>', 'the port; 0 takes any free one; PORT is heeded too')
        .env('PUNCTUAL_PORT')
        .argParser(whole(0, 65_535)),
    )
    .addOption(new Option('--host <address>', 'the address, one of this machine alone').env('PUNCTUAL_HOST').default('127.0.0.1'))
    .addOption(
      new Option('--concurrency <number>', 'how many occurrences run at once')
        .env('PUNCTUAL_CONCURRENCY')
        .argParser(whole(1, 100_000)),
    )
    .addHelpText('after', example('punctual serve --store sqlite:./punctual.db --jobs ./jobs.ts --port 8080'))
    .action(async (options: Omit<ServeOptions, 'port'> & { port?: number }, command: Command) =>
      serve({ ...options, port: options.port ?? portFromHost(command) }),
    )
}

/** Hosts that run programs for others say the port in PORT. */
function portFromHost(command: Command): number {
  const { PORT } = process.env
  if (PORT === undefined || PORT === '') return defaultPort
  return /^\d{1,5}$/.test(PORT) && Number(PORT) <= 65_535
    ? Number(PORT)
    : command.error('error: PORT must be a whole number from 0 to 65535')
}

async function serve(options: ServeOptions): Promise<void> {
  const { store, concurrency } = options
  const log = lineLogger()
  const file = await loadJobsFile(options.jobs)
  await using punctual = createPunctual({
    store: openStoreUrl(store),
    jobs: file.definitions,
    log,
    ...(concurrency !== undefined && { concurrency }),
  })
  announceEvents(punctual, log)
  const server = await listen(createHandler(punctual, { log }), options)
  const stop = stopSignal()
  try {
    await punctual.start()
    print(welcome(server, options, file))
    await runSetup(file, punctual, log, stop)
    await aborted(stop)
    log.info('Stopping: waiting for running work', { running: punctual.depth.running })
    await punctual.stop()
  } finally {
    await server.close()
  }
  log.info('Stopped')
}

/** Aborts at the first SIGINT or SIGTERM; at the second the process ends at once. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  const hear = () => (stop.signal.aborted ? process.exit(130) : stop.abort())
  process.on('SIGINT', hear).on('SIGTERM', hear)
  return stop.signal
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

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true }),
  )
}

function welcome({ url }: HttpServer, { store, jobs }: ServeOptions, { definitions }: JobsFile): string {
  const [first] = definitions
  const lines = [
    `${bold(`Punctual ${version}`)} runs at ${bold(url)}`,
    '',
    `  store  ${store}`,
    `  jobs   ${definitions.map(({ name }) => name).join(', ')} (${jobs})`,
    '',
    'Try next:',
    `  curl ${url}api/v1/jobs`,
    `  curl '${url}api/v1/occurrences?limit=5'`,
    `  curl ${url}readyz`,
    ...(store === 'memory:' ? [] : [`  npx punctual trigger ${first?.name} --store ${store}`]),
    '',
    'Ctrl-C stops it.',
  ]
  return lines.join('\n')
}
