import type { Figure } from '../../../model/figure.ts'
import type { FigureRow } from '../../store.ts'

export interface FigureDataRow {
  readonly tenant: string
  readonly job: string
  readonly at: number
  readonly width: number
  /** JSON. */
  readonly data: string
}

export function figureRow({ tenant, job, at, width, data }: FigureDataRow): FigureRow {
  return { tenant, job, at, widthMs: width, figure: JSON.parse(data) as Figure }
}
