import { Argument, type Command } from 'commander'
import { withClient } from '../../client.ts'
import { example, jsonOption, storeOption, tenantOption, whole } from '../../options.ts'
import { print, printJson, table } from '../../print.ts'

const version = whole(1, 1_000_000_000)

export function addJobsDiff(jobs: Command): void {
  jobs
    .command('diff')
    .description('Show what differs between two versions of a job, field by field.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addArgument(new Argument('<from>', 'the one version').argParser(version))
    .addArgument(new Argument('<to>', 'the other').argParser(version))
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs diff report 1 2 --store sqlite:./punctual.db'))
    .action(async (job: string, from: number, to: number, { store, json, ...options }: DiffFlags) => {
      const changes = await withClient(store, (punctual) => punctual.diff(job, from, to, options))
      if (json) return printJson({ items: changes })
      if (changes.length === 0) return print('Nothing differs.')
      const rows = changes.map((change) => [change.field, JSON.stringify(change.from), JSON.stringify(change.to)])
      print(table(['FIELD', `V${from}`, `V${to}`], rows))
    })
}

interface DiffFlags {
  store: string
  json?: true
  tenant?: string
}
