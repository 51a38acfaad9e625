import { Argument, type Command } from 'commander'
import type { JobView, VersionView } from '../../../client/job-view.ts'
import type { PauseView } from '../../../client/pauses.ts'
import type { Punctual } from '../../../client/punctual.ts'
import type { Counts, JobStatus } from '../../../client/reads.ts'
import { PunctualError } from '../../../errors.ts'
import { defaultTenant } from '../../../model/job.ts'
import { covers } from '../../../model/pause.ts'
import { differences } from '../../../model/settings.ts'
import { withClient } from '../../client.ts'
import { example, jsonOption, storeOption, tenantOption } from '../../options.ts'
import { bold, facts, instant, print, printJson } from '../../print.ts'

interface JobFacts {
  readonly job: JobView
  readonly status: JobStatus
  readonly counts: Counts
  readonly pauses: readonly PauseView[]
  readonly versions: readonly VersionView[]
}

export function addJobsShow(jobs: Command): void {
  jobs
    .command('show')
    .description('Tell all about one job: its schedule, what a person has changed, pauses, the next run.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual jobs show report --store sqlite:./punctual.db'))
    .action(async (name: string, { store, tenant, json }: { store: string; tenant?: string; json?: true }) => {
      const known = await withClient(store, (punctual) => readFacts(punctual, name, tenant))
      if (json) return printJson({ ...known.job, status: known.status, counts: known.counts, pauses: known.pauses })
      print(page(known))
    })
}

async function readFacts(punctual: Punctual, name: string, tenant = defaultTenant): Promise<JobFacts> {
  const {
    items: [job],
  } = await punctual.jobs({ name, tenant })
  if (!job) {
    const message = `There is no job ${JSON.stringify(name)} in tenant ${JSON.stringify(tenant)}`
    throw new PunctualError('job.unknown', message, { job: name, tenant })
  }
  return {
    job,
    status: await punctual.status(name, { tenant }),
    counts: await punctual.counts({ job: name, tenant }),
    pauses: (await punctual.pauses()).filter((pause) => covers(pause, tenant, name)),
    versions: await punctual.versions(name, { tenant }),
  }
}

function page({ job, status, counts, pauses, versions }: JobFacts): string {
  const newest = versions.at(-1)
  const coming = newest && newest.effectiveAt.getTime() > Date.now() ? `, holds from ${instant(newest.effectiveAt)} on` : ''
  const changed = `changed ${instant(job.updatedAt)}${newest?.by ? ` by ${newest.by}` : ''}${coming}`
  const settings = Object.entries(differences(job.settings) ?? {}).map(([field, value]) => `${field} ${text(value)}`)
  const standing = Object.entries(counts).filter(([, count]) => count > 0)
  return [
    bold(job.name),
    facts([
      ['tenant', job.tenant],
      ['definition', job.definition],
      ['version', `${job.version}, ${job.version === 1 ? `created ${instant(job.createdAt)}` : changed}`],
      ['schedule', job.scheduleText ?? 'none'],
      ['next run', instant(status.nextRun)],
      ['last run', instant(status.lastRun)],
      ['status', statusText(job, status)],
      ...pauses.map((pause) => ['paused', pauseText(pause)] as const),
      ['overridden', job.overridden.join(', ')],
      ['payload', JSON.stringify(job.payload) ?? ''],
      ['settings', settings.join(', ')],
      ['tasks', job.tasks.map(({ name, after }) => (after ? `${name} after ${after.join(' and ')}` : name)).join(', ')],
      ['counts', standing.map(([state, count]) => `${count} ${state}`).join(', ')],
    ]),
  ].join('\n')
}

function statusText({ retired, enabled, orphaned }: JobView, { active, paused, running }: JobStatus): string {
  const parts = [
    ...(retired ? ['retired: nobody declares it any more'] : []),
    ...(enabled ? [] : ['disabled: no instants are generated']),
    ...(paused ? ['paused'] : []),
    ...(orphaned ? ['orphaned: no live node declares it'] : []),
    ...(running ? ['running now'] : []),
  ]
  return parts.join('; ') || (active ? 'active' : 'runs when it is triggered or enqueued')
}

function pauseText({ tenant, job, from, until, reason, by }: PauseView): string {
  const what = job !== null ? '' : tenant === null ? 'everything, ' : 'the whole tenant, '
  return `${what}since ${instant(from)}${until ? ` until ${instant(until)}` : ''}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`
}

function text(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
