import type { Command } from 'commander'
import { jobMarks } from '../../../client/job-marks.ts'
import { withClient } from '../../client.ts'
import { example, jsonOption, storeOption, tenantOption } from '../../options.ts'
import { instant, print, printJson, table } from '../../print.ts'

export function addJobsList(jobs: Command): void {
  jobs
    .command('list', { isDefault: true })
    .description('List the jobs, those that never ran included.')
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs list --store sqlite:./punctual.db'))
    .action(async ({ store, tenant, json }: { store: string; tenant?: string; json?: true }) => {
      const { items } = await withClient(store, (punctual) =>
        punctual.jobs({ limit: 1000, ...(tenant !== undefined && { tenant }) }),
      )
      if (json) return printJson({ items })
      const rows = items.map((job) => [
        job.name,
        job.tenant,
        `v${job.version}`,
        jobMarks(job).join(', '),
        instant(job.nextRun),
        job.scheduleText ?? 'none',
      ])
      print(table(['JOB', 'TENANT', 'VERSION', 'STATUS', 'NEXT RUN', 'SCHEDULE'], rows))
    })
}
