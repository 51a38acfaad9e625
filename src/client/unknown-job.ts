import { PunctualError } from '../errors.ts'

export function unknownJob(tenant: string, job: string): PunctualError {
  return new PunctualError('job.unknown', `There is no job ${JSON.stringify(job)} in tenant ${JSON.stringify(tenant)}`, {
    job,
    tenant,
  })
}
