import { type Command, Option } from 'commander'
import { logForms } from '../log.ts'
import { brokerOption, example, storeOption, whole } from '../options.ts'
import type { ServeOptions } from '../serve.ts'

const defaultPort = 3000

export function addServe(root: Command): void {
  root
    .command('serve')
    .description(
      'Run the jobs of a file, and show them over HTTP on this machine. Ctrl-C waits for running work; a second one does not.',
    )
    .addOption(storeOption())
    .addOption(
      new Option(
        '--jobs <file>',
        'a module that exports jobs, and setup(punctual) where there is something to prepare; needed unless a broker or webhooks are served',
      ).env('PUNCTUAL_JOBS'),
    )
    .addOption(brokerOption('runs punctual/publish and sends the events of jobs with publish'))
    .addOption(
      new Option('--commands <queue>', 'takes EnqueueJob and CancelJob from this queue of the broker').env('PUNCTUAL_COMMANDS'),
    )
    .addOption(
      new Option('--webhook-secret <text>', 'runs punctual/http, signed; better given as PUNCTUAL_WEBHOOK_SECRET').env(
        'PUNCTUAL_WEBHOOK_SECRET',
      ),
    )
    .addOption(
      new Option('--webhook-networks <which>', 'where punctual/http may call: public addresses, or all')
        .env('PUNCTUAL_WEBHOOK_NETWORKS')
        .choices(['public', 'all'])
        .default('public'),
    )
    .addOption(
      new Option('--port <number>', 'the port; 0 takes any free one; PORT is heeded too')
        .env('PUNCTUAL_PORT')
        .argParser(whole(0, 65_535)),
    )
    .addOption(
      new Option('--host <address>', 'the address; beyond this machine requests need a token')
        .env('PUNCTUAL_HOST')
        .default('127.0.0.1'),
    )
    .addOption(
      new Option('--concurrency <number>', 'how many occurrences run at once')
        .env('PUNCTUAL_CONCURRENCY')
        .argParser(whole(1, 100_000)),
    )
    .addOption(
      new Option('--label <text>', 'a name of this installation for the dashboard, such as production').env('PUNCTUAL_LABEL'),
    )
    .addOption(
      new Option(
        '--log <form>',
        'lines for people, json for programs, quiet for errors alone; default: by whether a terminal reads',
      )
        .env('PUNCTUAL_LOG')
        .choices(logForms),
    )
    .addHelpText('after', example('punctual serve --store sqlite:./punctual.db --jobs ./jobs.ts --port 8080'))
    .action(async (options: Omit<ServeOptions, 'port'> & { port?: number }, command: Command) => {
      const { jobs, broker, webhookSecret } = options
      if (jobs === undefined && broker === undefined && webhookSecret === undefined)
        command.error("error: required option '--jobs <file>' not specified, nor '--broker <url>' for work without code")
      const port = options.port ?? portFromHost(command)
      // Loaded here, so no other command pays for the HTTP server.
      const { serve } = await import('../serve.ts')
      await serve({ ...options, port })
    })
}

/** Hosts that run programs for others say the port in PORT. */
function portFromHost(command: Command): number {
  const { PORT } = process.env
  if (PORT === undefined || PORT === '') return defaultPort
  return /^\d{1,5}$/.test(PORT) && Number(PORT) <= 65_535
    ? Number(PORT)
    : command.error('error: PORT must be a whole number from 0 to 65535')
}
