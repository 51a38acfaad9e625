import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { EnqueueOptions } from '../../client/new-occurrence.ts'
import type { Punctual } from '../../client/punctual.ts'
import { PunctualError } from '../../errors.ts'
import { withClient } from '../client.ts'
import { example, json, jsonOption, keyOptions, storeOption, tenantOption, whenOptions, whole } from '../options.ts'
import { print, printJson, printNote } from '../print.ts'

interface EnqueueFlags
  extends Pick<EnqueueOptions, 'key' | 'idempotencyKey' | 'delay' | 'runAt' | 'tenant' | 'entity' | 'priority' | 'onConflict'> {
  store: string
  json?: true
  ref?: Record<string, string>
}

export function addEnqueue(root: Command): void {
  const [delay, runAt] = whenOptions() as [Option, Option]
  const [key, idempotencyKey] = keyOptions(
    'one live occurrence of the job has it; free when that one ends',
    'the same, but remembered after the end',
  )
  root
    .command('enqueue')
    .description('Create work for a job, to run now or later on a node that has its handlers.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addArgument(new Argument('[payload]', 'what the handlers get, as JSON').argParser(json))
    .addOption(storeOption())
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(delay)
    .addOption(runAt)
    .addOption(tenantOption())
    .addOption(new Option('--entity <id>', 'what the work is about'))
    .addOption(new Option('--ref <name=id>', 'the id of a related record; may be given again').argParser(addRef))
    .addOption(new Option('--priority <number>', 'lower runs first').argParser(whole(0, 9)))
    .addOption(new Option('--on-conflict <what>', 'what a taken key means').choices(['keep', 'reschedule', 'replace']))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      example(
        `punctual enqueue payment-timeout '{"order": 42}' --idempotency-key order-42 --delay 15m --store sqlite:./punctual.db`,
      ),
    )
    .action((job: string, payload: unknown, flags: EnqueueFlags) => enqueue(job, payload, flags))
}

async function enqueue(
  job: string,
  payload: unknown,
  { store, json: asJson, ref: refs, ...options }: EnqueueFlags,
): Promise<void> {
  await withClient(store, async (punctual) => {
    const result = await punctual.enqueue(job, payload, { ...options, ...(refs && { refs }) })
    if (asJson) printJson(result)
    else print(`${result.outcome} ${result.id}${result.payloadDiffers ? ' (what is there has another payload)' : ''}`)
    if (await isDeclared(punctual, job, options.tenant)) return
    printNote(`No node has declared a job ${JSON.stringify(job)} on this store yet; the work waits for one that does.`)
  })
}

/** Whether the name is that of a job of the tenant, or of a definition, whose own job is in the default tenant. */
async function isDeclared(punctual: Punctual, job: string, tenant: string | undefined): Promise<boolean> {
  for (const options of [tenant === undefined ? {} : { tenant }, {}]) {
    try {
      await punctual.status(job, options)
      return true
    } catch (error) {
      if (!(error instanceof PunctualError && error.code === 'job.unknown')) throw error
    }
  }
  return false
}

function addRef(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be name=id, such as invoice=INV-7.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
