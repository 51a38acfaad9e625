import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { EnqueueOptions } from '../../client/commands.ts'
import { withClient } from '../client.ts'
import { example, json, jsonOption, storeOption, tenantOption, whole } from '../options.ts'
import { print, printJson } from '../print.ts'

interface EnqueueFlags
  extends Pick<EnqueueOptions, 'key' | 'runAt' | 'tenant' | 'entity' | 'refs' | 'priority' | 'unique' | 'onConflict'> {
  store: string
  json?: true
}

export function addEnqueue(root: Command): void {
  root
    .command('enqueue')
    .description('Create work for a job, to run now or later on a node that has its handlers.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addArgument(new Argument('[payload]', 'what the handlers get, as JSON').argParser(json))
    .addOption(storeOption())
    .addOption(new Option('--key <key>', 'under the same key the work is created once'))
    .addOption(new Option('--run-at <when>', "an instant, or a duration from now such as '15m'"))
    .addOption(tenantOption())
    .addOption(new Option('--entity <id>', 'what the work is about'))
    .addOption(new Option('--ref <name=id>', 'the id of a related record; may be given again').argParser(addRef))
    .addOption(new Option('--priority <number>', 'lower runs first').argParser(whole(0, 9)))
    .addOption(new Option('--unique <kind>', 'how long the key is taken').choices(['ever', 'live']))
    .addOption(new Option('--on-conflict <what>', 'what a taken key means').choices(['keep', 'reschedule', 'replace']))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(`punctual enqueue payment-timeout '{"order": 42}' --key order-42 --run-at 15m --store sqlite:./punctual.db`),
    )
    .action(
      async (
        job: string,
        payload: unknown,
        { store, json: asJson, ref: refs, ...options }: EnqueueFlags & { ref?: Record<string, string> },
      ) => {
        const result = await withClient(store, (punctual) =>
          punctual.enqueue(job, payload, { ...options, ...(refs && { refs }) }),
        )
        if (asJson) return printJson(result)
        print(`${result.outcome} ${result.id}${result.differs ? ' (what is there has another payload)' : ''}`)
      },
    )
}

function addRef(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be name=id, such as invoice=INV-7.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
