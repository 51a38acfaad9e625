import { Argument, type Command, Option } from 'commander'
import { withClient } from '../client.ts'
import { example, json, jsonOption, storeOption, tenantOption } from '../options.ts'
import { print, printJson } from '../print.ts'

interface TriggerFlags {
  store: string
  json?: true
  payload?: unknown
  key?: string
  tenant?: string
}

export function addTrigger(root: Command): void {
  root
    .command('trigger')
    .description('Run a job once, now, beside its schedule.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(new Option('--payload <json>', "instead of the job's own").argParser(json))
    .addOption(new Option('--key <key>', 'under the same key it is created once'))
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual trigger report --store sqlite:./punctual.db'))
    .action(async (job: string, { store, json: asJson, ...options }: TriggerFlags) => {
      const result = await withClient(store, (punctual) => punctual.trigger(job, options))
      if (asJson) return printJson(result)
      print(`${result.outcome} ${result.id}`)
    })
}
