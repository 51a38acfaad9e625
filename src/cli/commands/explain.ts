import { Argument, type Command } from 'commander'
import { PunctualError } from '../../errors.ts'
import type { WireOutput } from '../../http/wire.ts'
import { type Connection, withConnection } from '../connection.ts'
import { connectionFlags } from '../connection-flags.ts'
import { example, jsonOption, keyOptions, placeOptions, tenantOption } from '../options.ts'
import { bold, facts, print, printJson } from '../print.ts'

export function addExplain(root: Command): void {
  const [key, idempotencyKey] = keyOptions(
    'of the job, the occurrence with this key',
    'of the job, the occurrence with this idempotency key',
  )
  const command = root
    .command('explain')
    .description('Show why a job or an occurrence has not run, or will not.')
    .addArgument(new Argument('<job-or-occurrence>', 'the name of a job, or the id of an occurrence'))
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(key)
    .addOption(idempotencyKey)
    .addOption(tenantOption())
    .addOption(jsonOption())
    .addHelpText('after', example('punctual explain report --store sqlite:./punctual.db'))
    .action(async (name: string) => {
      const { tenant, key, idempotencyKey, json } = command.opts()
      const explanation = await withConnection(connectionFlags(command), (connection) =>
        explain(connection, name, { tenant, key, idempotencyKey }),
      )
      if (json) return printJson(explanation)
      const { subject, id, reasons } = explanation
      const title = subject === 'job' ? `job ${name}` : `${subject} ${id}`
      print(`${bold(title)}\n${facts(reasons.map(({ code, message }) => [code, message]))}`)
    })
}

/** A bare name may be that of a job or the id of an occurrence. */
async function explain(
  connection: Connection,
  name: string,
  flags: { tenant?: string; key?: string; idempotencyKey?: string },
): Promise<WireOutput<'explain.get'>> {
  try {
    return await connection.call('explain.get', { query: { job: name, ...flags } })
  } catch (error) {
    if (!isUnknown(error) || Object.values(flags).some((value) => value !== undefined)) throw error
  }
  return connection.call('explain.get', { query: { id: name } }).catch((error: unknown) => {
    if (!isUnknown(error)) throw error
    throw new PunctualError('job.unknown', `There is neither a job nor an occurrence ${JSON.stringify(name)}`, { given: name })
  })
}

function isUnknown(error: unknown): boolean {
  const { code, details } = error as { code?: string; details?: { status?: unknown } }
  return ['job.unknown', 'occurrence.unknown', 'operation.unknown'].includes(String(code)) || details?.status === 404
}
