import { Argument, type Command } from 'commander'
import { withClient } from '../../client.ts'
import { example, jsonOption, storeOption, tenantOption } from '../../options.ts'
import { instant, print, printJson, table } from '../../print.ts'

export function addJobsVersions(jobs: Command): void {
  jobs
    .command('versions')
    .description('List the versions of a job, oldest first, and from when on each holds.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs versions report --store sqlite:./punctual.db'))
    .action(async (job: string, { store, json, ...options }: { store: string; json?: true; tenant?: string }) => {
      const versions = await withClient(store, (punctual) => punctual.versions(job, options))
      if (json) return printJson({ items: versions })
      const rows = versions.map(({ version, effectiveAt, by, scheduleText, spec }) => [
        `v${version}`,
        instant(effectiveAt),
        by ?? 'code',
        spec.isRetired ? 'retired' : spec.isEnabled ? '' : 'disabled',
        scheduleText ?? 'none',
      ])
      print(table(['VERSION', 'HOLDS FROM', 'BY', 'STATUS', 'SCHEDULE'], rows))
    })
}
