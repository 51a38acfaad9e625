import type { Figure } from '../../model/figure.ts'
import type { OccurrenceState, Source } from '../../model/lifecycle.ts'

/** Counts of a job's work in a span of time. An empty job stands for all jobs of the tenant, an empty tenant for all. */
export interface FigureRow {
  readonly tenant: string
  readonly job: string
  readonly at: number
  readonly widthMs: number
  readonly figure: Figure
}

/** Figures that a node has gathered. Adding again under the same id changes nothing. */
export interface FigureAdd {
  readonly id: string
  readonly rows: readonly FigureRow[]
}

/** `byJob`: of each job, instead of the sum; of all tenants where none is named. At most `limit` rows, the newest. */
export interface FigureQuery {
  readonly tenant?: string
  readonly job?: string
  readonly byJob?: boolean
  readonly from: number
  readonly to: number
  readonly limit: number
}

/** Which live work: due at or after `from` and before `to`. */
export interface DueQuery {
  readonly tenant?: string
  readonly job?: string
  readonly from?: number
  readonly to?: number
  readonly limit: number
}

/** Work that could be claimed when it is due. */
export interface DueRow {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string | null
  readonly source: Source
  readonly dueAt: number
  readonly state: Extract<OccurrenceState, 'pending' | 'retrying'>
}
