// What the commands that change a job have in common.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Punctual } from '../../../client/punctual.ts'
import { PunctualError } from '../../../errors.ts'
import type { UpdatePolicy } from '../../../model/update.ts'
import { parseDuration } from '../../../time/duration.ts'
import { withClient } from '../../client.ts'
import { byOption, jsonOption, storeOption, tenantOption, whole } from '../../options.ts'
import { personOf } from '../../person.ts'
import { instant, print, printJson } from '../../print.ts'

export interface ChangeFlags {
  store: string
  json?: true
  tenant?: string
  by?: string
  update?: UpdatePolicy
  expectVersion?: number
}

/** Adds the options of every change. */
export function changeOptions(command: Command): Command {
  return command
    .addOption(storeOption())
    .addOption(tenantOption())
    .addOption(
      new Option(
        '--update <when>',
        'when it takes hold: immediate, graceful (after the next run), a number of runs, or a time such as 2h',
      ).argParser(updatePolicy),
    )
    .addOption(
      new Option('--expect-version <number>', 'refuse when the job has another version').argParser(whole(0, 1_000_000_000)),
    )
    .addOption(byOption())
    .addOption(jsonOption())
}

interface Change {
  tenant?: string
  by: string
  update?: UpdatePolicy
  expectedVersion?: number
}

/** Makes the change, and prints the version that came of it. */
export async function change(
  job: string,
  { store, json, tenant, by, update, expectVersion }: ChangeFlags,
  make: (punctual: Punctual, options: Change) => Promise<{ version: number }>,
): Promise<void> {
  const where = tenant === undefined ? {} : { tenant }
  const options = {
    ...where,
    by: personOf(by),
    ...(update !== undefined && { update }),
    ...(expectVersion !== undefined && { expectedVersion: expectVersion }),
  }
  const made = await withClient(store, async (punctual) => {
    const { version } = await make(punctual, options)
    return (await punctual.versions(job, where)).find((one) => one.version === version)
  })
  if (!made) throw new PunctualError('job.unknown', `There is no job ${JSON.stringify(job)} any more`, { job })
  const { version, effectiveAt } = made
  if (json) return printJson({ job, version, effectiveAt })
  print(`${job} has version ${version}, which holds from ${instant(effectiveAt)} on`)
}

function updatePolicy(text: string): UpdatePolicy {
  if (text === 'immediate' || text === 'graceful') return text
  if (/^\d+$/.test(text)) return { graceful: { count: whole(1, 10_000)(text) } }
  try {
    return { graceful: { span: parseDuration(text) } }
  } catch {
    throw new InvalidArgumentError('It must be immediate, graceful, a number of runs such as 3, or a duration such as 2h.')
  }
}
