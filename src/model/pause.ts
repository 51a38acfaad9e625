/** The scope of a pause: everything, one tenant, or one job. */
export interface PauseScope {
  readonly tenant: string | null
  readonly job: string | null
}

/** A stored interval. It is in force from `from` on and until `to`, if that is known. */
export interface PauseRecord extends PauseScope {
  readonly id: number
  readonly from: number
  readonly to: number | null
  readonly reason: string | null
  readonly by: string | null
}

/** Whether the pause covers the job at this instant. */
export function isPausedAt(pause: PauseRecord, tenant: string, job: string, at: number): boolean {
  return covers(pause, tenant, job) && pause.from <= at && (pause.to === null || at < pause.to)
}

export function covers({ tenant, job }: PauseScope, ofTenant: string, ofJob: string): boolean {
  return (tenant === null || tenant === ofTenant) && (job === null || job === ofJob)
}

export function isSameScope(a: PauseScope, b: PauseScope): boolean {
  return a.tenant === b.tenant && a.job === b.job
}
