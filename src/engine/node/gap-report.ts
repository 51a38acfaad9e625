import type { Env } from '../env.ts'

/** Logs and emits the handlers that are missing, and those that are not used. */
export function reportGaps({ registry, log, events }: Env): void {
  for (const gap of registry.gaps()) {
    log.warn(gap.message, { job: gap.job, task: gap.task })
    events.emit('handler.missing', gap)
  }
}
