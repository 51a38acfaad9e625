import { Argument, type Command, Option } from 'commander'
import type { TriggerOptions } from '../../client/commands.ts'
import { withClient } from '../client.ts'
import { example, json, jsonOption, keyOptions, storeOption, tenantOption } from '../options.ts'
import { print, printJson } from '../print.ts'

interface TriggerFlags extends TriggerOptions {
  store: string
  json?: true
}

export function addTrigger(root: Command): void {
  const [key, idempotencyKey] = keyOptions(
    'one live occurrence of the job has it; free when that one ends',
    'the same, but remembered after the end',
  )
  root
    .command('trigger')
    .description('Run a job once, now, beside its schedule.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(new Option('--payload <json>', "instead of the job's own").argParser(json))
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual trigger report --store sqlite:./punctual.db'))
    .action(async (job: string, { store, json: asJson, ...options }: TriggerFlags) => {
      const result = await withClient(store, (punctual) => punctual.trigger(job, options))
      if (asJson) return printJson(result)
      print(`${result.outcome} ${result.id}`)
    })
}
