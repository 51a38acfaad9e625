import { systemActor } from '../model/audit.ts'
import { errorText } from '../model/error-record.ts'
import { uuidV7 } from '../model/ids.ts'
import type { Turn } from './turn/turn.ts'

/** Pauses the job once it has failed as often in a row as it may. A crash before this leaves it to the next failure. */
export async function pauseAfterFailures({ settings, record, env }: Turn): Promise<void> {
  if (settings.autoPause === null) return
  const { tenant, job } = record
  try {
    const { failuresInRow } = await env.store.counts({ tenant, job })
    if (failuresInRow < settings.autoPause) return
    const reason = `${failuresInRow} failures in a row`
    const act = uuidV7(Math.floor(env.clock.wall()), env.randomBytes)
    const audit = { act, actor: systemActor, action: 'pause' as const, reason }
    const { outcome } = await env.store.pause({ tenant, job, open: { until: null, reason, by: 'punctual' }, audit })
    if (outcome === 'paused') env.events.emit('job.paused', { tenant, job, reason })
  } catch (error) {
    env.log.error('A job could not be paused after its failures', { tenant, job, error: errorText(error) })
  }
}
