import { builtInPrefix } from '../engine/node/registry.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'
import { checkName } from '../model/limits.ts'

/** A job: its definition, or its name. */
export type Job = AnyDefinition | string

/** The built-in jobs that users enqueue and schedule like their own. */
export const openNames: readonly string[] = [`${builtInPrefix}http`, `${builtInPrefix}publish`]

/** The name of a job that users may run by themselves: the built-in ones have their own calls. */
export function ownNameOf(job: Job): string {
  const name = nameOf(job)
  if (!name.startsWith(builtInPrefix) || openNames.includes(name)) return name
  throw new PunctualError(
    'name.invalid',
    `job must not begin with ${builtInPrefix}, which is for built-in jobs; got ${JSON.stringify(name)}. Use backfill and replayAll`,
    { field: 'job', given: name },
  )
}

export function nameOf(job: Job): string {
  return job instanceof Definition ? job.name : checkName(job, 'job')
}
