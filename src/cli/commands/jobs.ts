import type { Command } from 'commander'
import { withClient } from '../client.ts'
import { example, jsonOption, storeOption, tenantOption } from '../options.ts'
import { instant, print, printJson, table } from '../print.ts'

export function addJobs(root: Command): void {
  root
    .command('jobs')
    .description('List the jobs, those that never ran included.')
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs --store sqlite:./punctual.db'))
    .action(async ({ store, tenant, json }: { store: string; tenant?: string; json?: true }) => {
      const jobs = await withClient(store, (punctual) => punctual.jobs({ limit: 1000, ...(tenant !== undefined && { tenant }) }))
      if (json) return printJson({ items: jobs })
      const rows = jobs.map((job) => [job.name, job.tenant, `v${job.version}`, instant(job.nextRun), job.scheduleText ?? 'none'])
      print(table(['JOB', 'TENANT', 'VERSION', 'NEXT RUN', 'SCHEDULE'], rows))
    })
}
