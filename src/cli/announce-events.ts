import type { Punctual } from '../client/punctual.ts'
import type { Logger } from '../model/context.ts'
import type { OccurrenceEvent } from '../model/events.ts'

/** Writes a log line for each thing that becomes of an occurrence, a node or the scheduler's health. */
export function announceEvents(punctual: Punctual, log: Logger): void {
  punctual.on('occurrence.started', (event) => log.info('started', { ...named(event), lateMs: Math.round(event.latenessMs) }))
  punctual.on('occurrence.completed', (event) =>
    log.info('completed', { ...named(event), tookMs: Math.round(event.report.durationMs) }),
  )
  punctual.on('occurrence.retrying', (event) =>
    log.warn('retrying', { ...named(event), inMs: Math.round(event.dueInMs), error: event.error?.message }),
  )
  punctual.on('occurrence.failed', (event) => log.error(event.state, { ...named(event), error: event.error?.message }))
  punctual.on('occurrence.canceled', (event) => log.info('canceled', { ...named(event), reason: event.reason }))
  punctual.on('occurrence.passed', ({ job, id, state, reason }) => log.info(state, { job, id, reason }))
  punctual.on('job.paused', ({ tenant, job, reason }) => log.warn('paused', { tenant, job, reason }))
  punctual.on('occurrence.lost', (event) => log.warn('lost', named(event)))
  punctual.on('node.gone', (event) => log.warn('a node is gone', event))
  punctual.on('node.draining', (event) => log.warn('this node drains', event))
  punctual.on('health.changed', ({ state, reasons }) => {
    const say = state === 'degraded' ? log.warn : log.info
    say('health changed', { state, reasons })
  })
}

function named({ job, id, key, turn }: OccurrenceEvent): object {
  return { job, ...(key !== null && { key }), id, turn }
}
