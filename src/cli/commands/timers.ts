import { type Command, Option } from 'commander'
import { brokerOption, example, whole } from '../options.ts'
import type { TimersCommandOptions } from '../timers.ts'

export function addTimers(root: Command): void {
  root
    .command('timers')
    .description('Run the timer service: ScheduleTimer commands in from a broker, DueTimeReached events out at the due instant.')
    .addOption(
      new Option('--store <url>', 'where timers are kept; else the file of TIMER_DB_PATH, ./event_service.db').env(
        'PUNCTUAL_STORE',
      ),
    )
    .addOption(brokerOption('TIMER_BROKER_URL is read too'))
    .addOption(new Option('--commands <name>', 'the queue of commands').env('PUNCTUAL_TIMER_COMMANDS').default('timers.commands'))
    .addOption(new Option('--events <name>', 'the topic of events').env('PUNCTUAL_TIMER_EVENTS').default('timers.events'))
    .addOption(
      new Option('--envelope <format>', 'how events are wrapped')
        .choices(['plain', 'cloudevents'])
        .default('plain')
        .env('PUNCTUAL_TIMER_ENVELOPE'),
    )
    .addOption(new Option('--commands-only', 'only store timers').conflicts('firingOnly'))
    .addOption(new Option('--firing-only', 'only fire timers'))
    .addOption(
      new Option(
        '--poll <duration>',
        'the look for missed timers, which fire at their due instant anyway; TIMER_POLLING_INTERVAL (ms) is read too',
      ).env('PUNCTUAL_POLL'),
    )
    .addOption(
      new Option('--claim-limit <number>', 'timers taken at once; TIMER_BATCH_SIZE is read too')
        .env('PUNCTUAL_CLAIM_LIMIT')
        .argParser(whole(1, 100_000)),
    )
    .addOption(
      new Option('--concurrency <number>', 'events that are published at once')
        .env('PUNCTUAL_CONCURRENCY')
        .argParser(whole(1, 100_000))
        .default(500),
    )
    .addOption(
      new Option('--port <number>', 'serve /healthz, /readyz and /metrics on this port')
        .env('PUNCTUAL_PORT')
        .argParser(whole(0, 65_535)),
    )
    .addOption(
      new Option('--host <address>', 'the address of the port; beyond this machine /metrics needs a token')
        .env('PUNCTUAL_HOST')
        .default('127.0.0.1'),
    )
    .addHelpText('after', example('punctual timers --store sqlite:./timers.db --broker nats://127.0.0.1:4222'))
    .action(async (options: TimersCommandOptions) => {
      const { runTimers } = await import('../timers.ts')
      await runTimers(options)
    })
}
