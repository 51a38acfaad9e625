/** Facts about a job that a claim returns with its members. */
export interface CurrentJob {
  readonly series: number
  /** The newest version; 0 where there is no job. */
  readonly version: number
  /** When the latest run that has ended began. */
  readonly lastRunAt: number | null
}

/** A text of JSON: the facts about the series that `select` finds, whose only column is `series`. */
export const currentJobs = (select: string) => `(SELECT coalesce(json_agg(json_build_object('series', d.series,
    'version', coalesce((SELECT j.version FROM punctual.job j WHERE j.series = d.series), 0),
    'lastRunAt', greatest((SELECT s.last_run_at FROM punctual.series s WHERE s.ref = d.series), (
      SELECT c.last_run_at FROM punctual.count_delta c WHERE c.series = d.series AND c.last_run_at IS NOT NULL
      ORDER BY c.last_run_at DESC LIMIT 1)))), '[]') FROM (${select}) d)`
