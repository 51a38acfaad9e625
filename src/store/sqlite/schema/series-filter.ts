/** Which jobs a reader asks for. */
export interface JobFilter {
  readonly tenant?: string | undefined
  readonly job?: string | undefined
}

/** A condition on the series `s`, and its values. */
export interface SeriesFilter {
  readonly where: string
  readonly values: readonly string[]
}

export function seriesWhere({ tenant, job }: JobFilter): SeriesFilter {
  const conditions = [...(tenant === undefined ? [] : ['s.tenant = ?']), ...(job === undefined ? [] : ['s.job = ?'])]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return { where, values: [tenant, job].filter((value) => value !== undefined) }
}
