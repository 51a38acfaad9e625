import type { VersionView } from '../../src/client/job-view.ts'
import type { OccurrenceLine } from '../../src/client/occurrence-view.ts'
import type { Punctual } from '../../src/client/punctual.ts'
import { type AnyDefinition, defineJob } from '../../src/model/definition.ts'
import type { UpdatePolicy } from '../../src/model/update.ts'
import { cron } from '../../src/schedule/cron.ts'
import { restoreSchedule } from '../../src/schedule/restore.ts'
import { allLines } from './cluster.ts'
import type { Work } from './siege-effects.ts'

const texts = ['*/9 * * * * *', '*/6 * * * * *', '0,20,40 * * * * *', '7 * * * * *'] as const
const policies: readonly UpdatePolicy[] = ['immediate', 'graceful', { graceful: { count: 3 } }, { graceful: { span: '20s' } }]

/** A job whose schedule people change, undo and fill in. Each instant of the schedule in force at it must be on record once. */
export class Rota {
  readonly #below: (limit: number) => number
  readonly #since: number
  readonly #operations: string[] = []

  constructor(below: (limit: number) => number, since: number) {
    this.#below = below
    this.#since = since
  }

  definition(work: Work): AnyDefinition {
    const schedule = cron(texts[0], { timezone: 'UTC' })
    return defineJob('rota', { schedule, overlap: 'allow', retry: { max: 50, interval: 500, factor: 1 } }).task(
      'only',
      work as never,
    )
  }

  async act(punctual: Punctual, now: number): Promise<void> {
    const dice = this.#below(9)
    if (dice < 4) await this.#change(punctual)
    else if (dice < 5) await punctual.rollback('rota', 1 + this.#below(4))
    else if (dice < 6) await punctual.reset('rota')
    else if (dice < 7) await punctual.update('rota', { enabled: this.#below(3) > 0 })
    else await this.#fill(punctual, now)
  }

  async #change(punctual: Punctual): Promise<void> {
    const schedule = cron(texts[this.#below(texts.length)] as string, { timezone: 'UTC' })
    await punctual.update('rota', { schedule }, { update: policies[this.#below(policies.length)] as UpdatePolicy })
  }

  async #fill(punctual: Punctual, now: number): Promise<void> {
    const to = new Date(now - this.#below(20_000))
    const from = new Date(to.getTime() - this.#below(60_000))
    const mode = (['missing', 'failed', 'all'] as const)[this.#below(3)]
    const { id } = await punctual.backfill('rota', { from, to, ...(mode && { mode }), concurrency: 2 })
    this.#operations.push(id)
  }

  /** Instants without a record, records without an instant, and instants that a backfill ran twice. */
  async faults(punctual: Punctual, now: number): Promise<string[]> {
    const lines = await allLines(punctual, { job: 'rota' })
    const versions = await punctual.versions('rota')
    const ranges = await punctual.ranges({ job: 'rota', limit: 500 })
    // The schedule begins after the creation of the job.
    const instants = instantsOf(versions, this.#since + 1, now + 120_000)
    // An instant canceled ahead of its time stays on record when the schedule changes.
    const isCanceledAhead = ({ state, endedAt, scheduledAt }: OccurrenceLine) =>
      state === 'canceled' && endedAt !== null && endedAt < scheduledAt
    const ofSchedule = lines.filter(({ source }) => source === 'schedule' || source === 'recovery')
    const planned = ofSchedule.filter((line) => instants.includes(atOf(line)) || !isCanceledAhead(line)).map(atOf)
    const covered = ranges.flatMap(({ from, to }) => instants.filter((at) => at >= from.getTime() && at <= to.getTime()))
    const recorded = [...planned, ...covered]
    // Work that was claimed in the very millisecond of a change, before it, runs.
    const claimed = instantsOf(versions, this.#since + 1, now + 120_000, (effectiveAt, at) => effectiveAt < at)
    const known = [...instants, ...claimed]
    const strange = recorded.filter((at) => !known.includes(at)).map((at) => `rota ran at ${shown(at)}, which is no instant`)
    const twice = recorded.filter((at, index) => recorded.indexOf(at) !== index).map((at) => `rota has ${shown(at)} twice`)
    const silent = instants.filter((at) => at < now - 60_000 && !recorded.includes(at)).map((at) => `rota lost ${shown(at)}`)
    const fills = this.#operations.flatMap((id) => {
      const filled = lines.filter(({ entity, source }) => entity === id && source === 'backfill').map(atOf)
      return filled.length === new Set(filled).size ? [] : [`backfill ${id} ran an instant twice`]
    })
    return [...strange, ...twice, ...silent, ...fills]
  }
}

/** The instants of each version while it is the one in force. */
function instantsOf(
  versions: readonly VersionView[],
  from: number,
  to: number,
  isInForce = (effectiveAt: number, at: number) => effectiveAt <= at,
): number[] {
  return versions.flatMap((version) => {
    const { schedule, isEnabled } = version.spec
    if (!isEnabled || schedule === null) return []
    const instants = [...restoreSchedule(schedule).between(new Date(from), new Date(to))].map((at) => at.getTime())
    return instants.filter((at) => versions.findLast(({ effectiveAt }) => isInForce(effectiveAt.getTime(), at)) === version)
  })
}

function atOf({ scheduledAt }: OccurrenceLine): number {
  return scheduledAt.getTime()
}

function shown(at: number): string {
  return new Date(at).toISOString()
}
