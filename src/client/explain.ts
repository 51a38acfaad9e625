// Why something has not run, or will not.

import { Timeline } from '../engine/loops/timeline.ts'
import { isTransient } from '../engine/node/transient.ts'
import { PunctualError } from '../errors.ts'
import { type AnyDefinition, Definition } from '../model/definition.ts'
import { defaultTenant, isPlannable, type JobRecord, kindOf, type VersionRecord } from '../model/job.ts'
import { checkObject } from '../model/limits.ts'
import type { OccurrenceHistory } from '../model/occurrence.ts'
import { covers, type PauseRecord } from '../model/pause.ts'
import { bind } from '../schedule/interval.ts'
import { restoreSchedule } from '../schedule/restore.ts'
import { neverFires, nextMs } from '../schedule/schedule.ts'
import { isoText } from '../time/instant.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'
import { isKeyed, type OccurrenceTarget, unknownOccurrence, whichOf } from './occurrence-target.ts'
import { type Reason, reason } from './reason.ts'
import { loopReasons, runningReason } from './running-reasons.ts'

/** The answer of `explain`. */
export interface Explanation {
  readonly subject: 'job' | 'occurrence' | 'store'
  readonly id: string
  /** The most telling first. */
  readonly reasons: readonly Reason[]
}

/** A job or an occurrence that `explain` is about. */
export type ExplainTarget = AnyDefinition | OccurrenceTarget | { tenant?: string; job: Job }

const endedStates = ['completed', 'failed', 'dead', 'canceled', 'skipped', 'missed'] as const
const rankedStates = ['pending', 'retrying'] as const
const rankedAtMost = 500

export class Explainer {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  /** Asks the store about a job (by name, definition or `{ tenant, job }`) or an occurrence (by id, `{ job, key }` or `{ job, idempotencyKey }`). */
  async explain(target: ExplainTarget): Promise<Explanation> {
    try {
      return await this.#explain(target)
    } catch (error) {
      if (!isTransient(error)) throw error
      return {
        subject: 'store',
        id: this.#env.store.name,
        reasons: [reason('store-unreachable', `The store does not answer: ${(error as Error).message}`)],
      }
    }
  }

  async #explain(target: ExplainTarget): Promise<Explanation> {
    const { store } = this.#env
    if (typeof target !== 'string') checkObject(target, 'the target of explain')
    if (typeof target === 'string' || (!(target instanceof Definition) && isKeyed(target))) {
      const history = await store.get(whichOf(target))
      if (history) return { subject: 'occurrence', id: history.record.id, reasons: await this.#ofOccurrence(history) }
      if (typeof target !== 'string') throw unknownOccurrence(target)
    }
    const scope =
      typeof target === 'string' || target instanceof Definition
        ? { tenant: defaultTenant, name: nameOf(target) }
        : { tenant: target.tenant ?? defaultTenant, name: nameOf(target.job) }
    const [job] = await store.readJobs({ ...scope, limit: 1 })
    if (!job)
      throw new PunctualError('job.unknown', `There is neither a job nor an occurrence ${JSON.stringify(scope.name)}`, {
        target: scope.name,
      })
    return { subject: 'job', id: job.id, reasons: await this.#ofJob(job) }
  }

  async #ofOccurrence(history: OccurrenceHistory): Promise<Reason[]> {
    const { record, state, dueAt, turns } = history
    const now = this.#env.time.now()
    const last = turns.at(-1)
    if (state === 'running') return [...loopReasons(history), runningReason(history, now)]
    if (state === 'waiting') return this.#ofWait(history)
    if (state !== 'pending' && state !== 'retrying') return [endReason(history)]
    if (state === 'retrying' && dueAt > now)
      return [
        ...loopReasons(history),
        reason('retrying', `Parked for its next try until ${isoText(dueAt)}${last?.error ? `: ${last.error.message}` : ''}`, {
          until: isoText(dueAt),
          error: last?.error ?? null,
        }),
      ]
    if (dueAt > now) return [reason('not-due', `It is due at ${isoText(dueAt)}`, { dueAt: isoText(dueAt) })]
    const pauses = await this.#pausesOf(record.tenant, record.job, now)
    if (pauses.length > 0) return pauses.map(pausedReason)
    const lacking = await this.#withoutNode(record)
    return lacking ? [lacking] : [await this.#queued(history)]
  }

  /** A holder of the key may itself wait, such as for a slot: nothing goes on before that one does. */
  async #ofWait(history: OccurrenceHistory): Promise<Reason[]> {
    const own = await this.#waitReason(history)
    const [blocker] = history.blockers
    const holder = blocker === undefined ? null : await this.#env.store.get({ id: blocker })
    if (!holder || (holder.state !== 'pending' && holder.state !== 'retrying')) return [own]
    const [theirs] = await this.#ofOccurrence(holder)
    if (!theirs) return [own]
    return [
      own,
      {
        ...theirs,
        message: `Of occurrence ${blocker}, which holds the key: ${theirs.message}`,
        details: { ...theirs.details, id: blocker },
      },
    ]
  }

  async #waitReason({ record, wait, blockers }: OccurrenceHistory): Promise<Reason> {
    const details = { key: wait?.key ?? null, blockers, until: wait?.wakeAt == null ? null : isoText(wait.wakeAt) }
    const by = blockers.length > 0 ? ` with ${blockers.join(', ')}` : ''
    switch (wait?.reason) {
      case 'overlap':
        return reason('overlap', `It overlaps${by}, and starts when that has ended`, details)
      case 'concurrency':
        return reason('concurrency', `Its concurrency key is taken${by ? `: it shares it${by}` : ''}`, details)
      case 'rate':
        return reason('rate', `Its rate limit is reached until ${details.until}`, details)
      case 'catch-up':
      case 'catch-up-total':
        return reason('catch-up', `It waits for other work that is caught up${by}`, details)
      case 'pause': {
        const [pause] = await this.#pausesOf(record.tenant, record.job, this.#env.time.now())
        return pause ? pausedReason(pause) : reason('paused', 'It was paused and is looked at again at once', details)
      }
      default:
        return reason(
          'recovery',
          'It came due while no node was there, and waits for the planner to apply the recovery strategy',
          details,
        )
    }
  }

  /** It is due, may run and a node could run it: all slots are taken by others. */
  async #queued({ record, dueAt }: OccurrenceHistory): Promise<Reason> {
    const { items } = await this.#env.store.list({ states: rankedStates, limit: rankedAtMost })
    const ahead = items.filter((other) => other.id !== record.id && other.dueAt <= dueAt).length
    const position = ahead + 1
    const { nodes } = await this.#env.store.nodes()
    const serving = nodes.filter(({ kinds, isDraining }) => !isDraining && kinds.includes(record.kind))
    const slots = serving.map(({ name, running, concurrency }) => ({ node: name, running, concurrency }))
    const text = slots.map(({ node, running, concurrency }) => `${node} ${running}/${concurrency}`).join(', ')
    return reason('slots-full', `It is due and waits for a free slot, at about position ${position}; slots in use: ${text}`, {
      position,
      dueAt: isoText(dueAt),
      slots,
    })
  }

  async #ofJob(job: JobRecord): Promise<Reason[]> {
    const { time, store } = this.#env
    const now = time.now()
    const reasons: Reason[] = []
    if (job.spec.isRetired) reasons.push(reason('retired', 'Nobody declares it any more'))
    if (!job.spec.isEnabled) reasons.push(reason('disabled', 'It is disabled: no instants are generated'))
    const pauses = await this.#pausesOf(job.tenant, job.name, now)
    reasons.push(...pauses.map(pausedReason))
    const { items } = await store.list({
      tenant: job.tenant,
      job: job.name,
      states: ['running', 'waiting', 'retrying'],
      limit: 10,
    })
    const [under] = items
    const history = under && (await store.get({ id: under.id }))
    if (history?.state === 'running') {
      const { code, message, details } = runningReason(history, now)
      reasons.push(
        reason(code, `Occurrence ${history.record.id}: ${message}`, { ...details, id: history.record.id }),
        ...loopReasons(history),
      )
    } else if (history?.state === 'retrying') reasons.push(...loopReasons(history))
    const lacking = await this.#withoutNode({ definition: job.spec.definition, kind: kindOf(job.spec) })
    if (lacking) reasons.push(lacking)
    const last = await this.#lastTrouble(job)
    if (last) reasons.push(last)
    reasons.push(scheduleReason(job, { versions: await store.readVersions(job), now, isPaused: pauses.length > 0 }))
    return reasons
  }

  /** The end of its newest ended occurrence, unless that one has completed or was canceled. */
  async #lastTrouble({ tenant, name }: JobRecord): Promise<Reason | null> {
    const { store } = this.#env
    const { items } = await store.list({ tenant, job: name, states: endedStates, limit: 1 })
    const [newest] = items
    if (!newest || newest.state === 'completed' || newest.state === 'canceled') return null
    const history = await store.get({ id: newest.id })
    if (!history) return null
    const { code, message, details } = endReason(history)
    return reason(code, `Occurrence ${newest.id}: ${message}`, { ...details, id: newest.id })
  }

  async #pausesOf(tenant: string, job: string, now: number): Promise<PauseRecord[]> {
    const pauses = await this.#env.store.readPauses({ since: now + 1 })
    return pauses.filter((pause) => covers(pause, tenant, job))
  }

  async #withoutNode({ definition, kind }: { definition: string; kind: string }): Promise<Reason | null> {
    const { nodes } = await this.#env.store.nodes()
    const open = nodes.filter(({ isDraining }) => !isDraining)
    if (open.length === 0)
      return reason('no-node', nodes.length === 0 ? 'No node is running' : 'Every node drains: none takes new work')
    if (open.some(({ kinds }) => kinds.includes(kind))) return null
    const which = open.length < nodes.length ? 'No node that takes new work' : 'No node'
    return reason('no-handler', `${which} has all handlers of ${JSON.stringify(definition)}`, {
      definition,
      nodes: open.map(({ name }) => name),
    })
  }
}

function endReason(history: OccurrenceHistory): Reason {
  const last = history.turns.at(-1)
  return reason('ended', endWords(history), {
    state: history.state,
    reason: last?.reason ?? null,
    error: last?.error ?? null,
  })
}

function endWords({ state, record, turns }: OccurrenceHistory): string {
  const last = turns.at(-1)
  const at = isoText(record.scheduledAt)
  const [why, rival] = last?.reason?.split(': ') ?? []
  if (last && state === 'missed' && why === 'downtime')
    return `It was missed: no node ran at ${at}. A node was back at ${isoText(last.endedAt)}, and the job's recovery strategy does not run it later`
  if (state === 'skipped' && why === 'paused') return `It was skipped: the job was paused at ${at}`
  if (state === 'skipped' && why === 'overlap') return `It was skipped: ${rival} was under way at ${at}`
  if (state === 'skipped' && why === 'compressed') return `It was skipped: one run after the downtime stands for it and others`
  const said = last?.reason ?? last?.error?.message
  return `It ended as ${state}${last ? ` at ${isoText(last.endedAt)}` : ''}${said ? `: ${said}` : ''}`
}

function scheduleReason(
  job: JobRecord,
  { versions, now, isPaused }: { versions: readonly VersionRecord[]; now: number; isPaused: boolean },
): Reason {
  if (!job.spec.schedule) return reason('no-schedule', 'It has no schedule: it runs when it is triggered or enqueued')
  try {
    const schedule = bind(restoreSchedule(job.spec.schedule), job.createdAt)
    if (neverFires(schedule)) return reason('never-fires', `Its schedule never fires: ${schedule.describe()}`)
    // A change may hold only from a later instant on: until then the version before it is in force.
    const next = isPlannable(job.spec) ? (new Timeline(job, versions).next(now)?.at ?? null) : nextMs(schedule, now)
    if (next === null) return reason('window-over', 'Its schedule has no further instant: its window or its count is over')
    const { start } = job.spec.schedule as { start?: unknown }
    const startsAt = typeof start === 'string' ? Date.parse(start) : typeof start === 'number' ? start : null
    if (startsAt !== null && startsAt > now)
      return reason('window-ahead', `Its window begins at ${isoText(startsAt)}; the first instant is ${isoText(next)}`, {
        nextRun: isoText(next),
      })
    if (isPaused || !isPlannable(job.spec))
      return reason('next-run', `Its schedule would next fire at ${isoText(next)}`, { nextRun: isoText(next) })
    return reason('next-run', `It runs next at ${isoText(next)}`, { nextRun: isoText(next) })
  } catch (error) {
    if (error instanceof PunctualError && error.code === 'schedule.unknown')
      return reason('unknown-schedule', `This process does not know schedules of the kind ${job.spec.schedule.kind}`, {
        kind: job.spec.schedule.kind,
      })
    throw error
  }
}

function pausedReason({ tenant, job, from, to, reason: why, by }: PauseRecord): Reason {
  const what = job !== null ? 'The job' : tenant !== null ? `Tenant ${tenant}` : 'Everything'
  const until = to === null ? '' : ` until ${isoText(to)}`
  return reason('paused', `${what} is paused since ${isoText(from)}${until}${by ? ` by ${by}` : ''}${why ? `: ${why}` : ''}`, {
    from: isoText(from),
    until: to === null ? null : isoText(to),
    reason: why,
    by,
  })
}
