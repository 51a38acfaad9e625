import type { Source } from '../../model/lifecycle.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'

/** The fields of a record that contexts and events have in common. */
export class RecordIds {
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly source: Source

  constructor({ tenant, job, key, source }: OccurrenceRecord) {
    this.tenant = tenant
    this.job = job
    this.key = key
    this.source = source
  }
}
