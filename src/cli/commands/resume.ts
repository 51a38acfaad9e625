import { Argument, type Command, Option } from 'commander'
import { type Connection, withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { byOption, example, jsonOption, placeOptions } from '../options.ts'
import { pauseTarget } from '../pause-target.ts'
import { print, printJson, printNote } from '../print.ts'

export function addResume(root: Command): void {
  const command = root
    .command('resume')
    .description('End the pause of a job, a tenant or everything. Work that waited for its end runs.')
    .addArgument(new Argument('[job]', 'the name of the job'))
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(new Option('--tenant <name>', 'the tenant of the job; without a job, all of the tenant'))
    .addOption(new Option('--all', 'the pause of everything'))
    .addOption(new Option('--reason <text>', 'kept in the audit'))
    .addOption(byOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual resume report --store sqlite:./punctual.db'))
    .action(async (job: string | undefined) => {
      const { json, tenant, all, reason } = command.opts()
      const what = pauseTarget(job, { tenant, all }, command)
      const because = reason === undefined ? {} : { reason }
      await withConnection(connectionFlags(command), async (connection) => {
        const { outcome } =
          job === undefined
            ? await connection.call('pauses.close', { body: { ...because, ...(tenant !== undefined && { tenant }) } })
            : await connection.call('jobs.resume', { params: { job }, query: { tenant }, body: because })
        if (json) return printJson({ outcome })
        print(outcome === 'resumed' ? `resumed ${what}` : `unchanged: ${what} was not paused by itself`)
        if (job !== undefined) await noteWider(connection, job, tenant)
      })
    })
}

async function noteWider(connection: Connection, job: string, tenant: string | undefined): Promise<void> {
  const { pauses } = await connection.call('jobs.get', { params: { job }, query: { tenant } })
  const wider = pauses.find((pause) => pause.job === null)
  if (wider) printNote(`It is still paused, since ${wider.tenant === null ? 'everything' : `tenant ${wider.tenant}`} is.`)
}
