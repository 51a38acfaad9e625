import { type AnyDefinition, Definition } from '../model/definition.ts'
import { checkName } from '../model/limits.ts'

export function nameOf(job: AnyDefinition | string): string {
  return job instanceof Definition ? job.name : checkName(job, 'job')
}
