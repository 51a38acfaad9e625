import { openNames } from '../../client/job-name.ts'
import type { JobPatch } from '../../client/job-override.ts'
import { changes } from '../../client/job-view.ts'
import type { CancelTarget } from '../../client/occurrence-target.ts'
import { PunctualError } from '../../errors.ts'
import type { JobRecord } from '../../model/job.ts'
import { hasRole } from '../access/identity.ts'
import { iso, isoOrNull, wireError } from '../board/line.ts'
import { Refusal } from '../problem.ts'
import { bodyTenant, by, type Call, type Calls, defined, scopeOf, tenantOf } from './call.ts'
import { jobPage } from './job-page.ts'
import { payloadView } from './payload-view.ts'
import { scheduleOf, schedulePreview } from './schedule-preview.ts'
import { hiddenPaths, wireJob } from './wire-job.ts'

/** Jobs: lists, changes and runs of them. */
export const jobCalls: Calls<
  | 'jobs.list'
  | 'jobs.get'
  | 'jobs.status'
  | 'jobs.create'
  | 'jobs.update'
  | 'jobs.versions'
  | 'jobs.diff'
  | 'jobs.rollback'
  | 'jobs.reset'
  | 'jobs.retire'
  | 'jobs.pause'
  | 'jobs.resume'
  | 'jobs.trigger'
  | 'jobs.enqueue'
  | 'jobs.cancel'
  | 'schedules.preview'
> = {
  'jobs.list': async (call) => jobPage(call, scopeOf(call, call.query.tenant)),
  'jobs.get': async (call) => {
    const record = await known(call)
    call.headers.set('ETag', `"${record.version}"`)
    return wireJob(call, record)
  },
  'jobs.status': async (call) => {
    const { lastResult, nextRun, lastRun, ...rest } = await call.desk.punctual.status(call.params.job, {
      tenant: tenantOf(call, call.query.tenant),
    })
    const mayRead = hasRole(call.caller, 'operator')
    const last = mayRead && lastResult ? await call.desk.punctual.get(lastResult.id) : null
    return {
      ...rest,
      nextRun: isoOrNull(nextRun),
      lastRun: isoOrNull(lastRun),
      lastResult: lastResult && {
        ...{ id: lastResult.id, state: lastResult.state, result: last && payloadView(call, last).result(last.result) },
        error: wireError(lastResult.error, mayRead),
      },
    }
  },
  'jobs.create': async (call) => {
    const { definition, schedule, name, tenant, payload, update, ...settings } = call.body
    const of = tenant === undefined ? tenantOf(call, undefined) : bodyTenant(call, tenant)
    const options = { ...defined(settings), name, payload, update, tenant: of, by: call.caller.name }
    const result = await call.desk.punctual.schedule(definition, scheduleOf(schedule), defined(options) as never)
    call.headers.set('Location', `${call.root}/jobs/${encodeURIComponent(result.job)}?tenant=${encodeURIComponent(of)}`)
    return { ...result, nextRun: isoOrNull(result.nextRun), difference: wireDifference(result.difference) }
  },
  'jobs.update': async (call) => {
    const { schedule, update, reason, ...rest } = call.body
    const patch = { ...rest, ...(schedule !== undefined && { schedule: schedule && scheduleOf(schedule) }) }
    const result = await call.desk.punctual.update(
      call.params.job,
      defined(patch) as JobPatch,
      changeOptions(call, update, reason),
    )
    return versioned(call, result)
  },
  'jobs.versions': async (call) => {
    const versions = await call.desk.punctual.versions(call.params.job, { tenant: tenantOf(call, call.query.tenant) })
    const mayRead = mayReadPayload(call, versions.at(-1)?.spec)
    return {
      items: versions.map(({ version, effectiveAt, createdAt, by, scheduleText, spec }, at) => ({
        version,
        effectiveAt: effectiveAt.toISOString(),
        createdAt: createdAt.toISOString(),
        by,
        scheduleText,
        changes: at === 0 ? [] : hidden(changes((versions[at - 1] as (typeof versions)[number]).spec, spec), mayRead),
      })),
    }
  },
  'jobs.diff': async (call) => {
    const { from, to, tenant } = call.query
    const items = await call.desk.punctual.diff(call.params.job, from, to, { tenant: tenantOf(call, tenant) })
    const { spec } = await known(call)
    return { items: hidden(items, mayReadPayload(call, spec)) }
  },
  'jobs.rollback': async (call) =>
    versioned(
      call,
      await call.desk.punctual.rollback(
        call.params.job,
        call.body.version,
        changeOptions(call, call.body.update, call.body.reason),
      ),
    ),
  'jobs.reset': async (call) => {
    const { fields, update, reason } = call.body
    const options = { ...changeOptions(call, update, reason), ...(fields && { fields }) }
    return versioned(call, await call.desk.punctual.reset(call.params.job, options))
  },
  'jobs.retire': async (call) =>
    versioned(call, await call.desk.punctual.retire(call.params.job, { tenant: tenantOf(call, call.query.tenant), ...by(call) })),
  'jobs.pause': async (call) => {
    const target = { tenant: tenantOf(call, call.query.tenant), job: call.params.job }
    return { outcome: await call.desk.punctual.pause(target, by(call)) }
  },
  'jobs.resume': async (call) => ({
    outcome: await call.desk.punctual.resume({ tenant: tenantOf(call, call.query.tenant), job: call.params.job }, by(call)),
  }),
  'jobs.trigger': async (call) => {
    const options = defined({ ...call.body, tenant: tenantOf(call, call.query.tenant), by: call.caller.name })
    const { id, outcome, state, payloadDiffers: differs } = await call.desk.punctual.trigger(call.params.job, options as never)
    return submitted(call, { id, outcome, state, differs })
  },
  'jobs.enqueue': async (call) => {
    const { payload, ...rest } = call.body
    const options = defined({ ...rest, tenant: tenantOf(call, call.query.tenant) })
    await checkEnqueueable(call)
    const {
      id,
      outcome,
      state,
      payloadDiffers: differs,
    } = await call.desk.punctual.enqueue(call.params.job, payload, options as never)
    return submitted(call, { id, outcome, state, differs })
  },
  'jobs.cancel': async (call) => {
    const { key, idempotencyKey, entity, reason } = call.body
    const named = defined({ key, idempotencyKey, entity })
    if (Object.keys(named).length !== 1)
      throw new Refusal('request.invalid', 'Name the work by one of key, idempotencyKey and entity', { field: 'key' })
    const target = { tenant: tenantOf(call, call.query.tenant), job: call.params.job, ...named } as unknown as CancelTarget
    const outcome = await call.desk.punctual.cancel(target, defined({ reason, by: call.caller.name }))
    if (outcome === 'unknown') throw new PunctualError('occurrence.unknown', 'There is no such work', { target })
    return { outcome }
  },
  'schedules.preview': async (call) => schedulePreview(call),
}

/** Work of a name that no process ever declared would wait for ever. */
async function checkEnqueueable(call: Call<'jobs.enqueue'>): Promise<void> {
  const { store, registry } = call.desk.env
  const { job } = call.params
  // The name of a built-in job means the same in every process, also where none that runs it is known.
  if (registry.definition(job) || openNames.includes(job)) return
  const tenants = new Set([tenantOf(call, call.query.tenant), 'default'])
  for (const tenant of tenants) if ((await store.readJobs({ tenant, name: job, limit: 1 })).length > 0) return
  throw new PunctualError('job.unknown', `There is no job or definition ${JSON.stringify(job)}`, { job })
}

async function known(call: Call<'jobs.get'> | Call<'jobs.diff'>): Promise<JobRecord> {
  const tenant = tenantOf(call, call.query.tenant)
  const { job } = call.params
  const [record] = await call.desk.env.store.readJobs({ tenant, name: job, limit: 1 })
  const found = record ?? (await call.desk.board.shared(tenant, job))[0]
  if (found) return found
  throw new PunctualError('job.unknown', `There is no job ${JSON.stringify(job)} in tenant ${JSON.stringify(tenant)}`, {
    job,
    tenant,
  })
}

type Update = { readonly version: number; readonly difference: Parameters<typeof wireDifference>[0] }

async function versioned(call: ChangeCall, { version, difference }: Update) {
  call.headers.set('ETag', `"${version}"`)
  const tenant = tenantOf(call, call.query.tenant)
  const made = (await call.desk.punctual.versions(call.params.job, { tenant })).find((one) => one.version === version)
  const effectiveAt = made?.effectiveAt.toISOString() ?? iso(call.desk.board.now)
  return { version, effectiveAt, difference: wireDifference(difference) }
}

type ChangeCall = Call<'jobs.update'> | Call<'jobs.rollback'> | Call<'jobs.reset'> | Call<'jobs.retire'>

function wireDifference(difference: { from: Date; to: Date; added: readonly Date[]; removed: readonly Date[] } | null) {
  if (!difference) return null
  const { from, to, added, removed } = difference
  const texts = (dates: readonly Date[]) => dates.map((date) => date.toISOString())
  return { from: from.toISOString(), to: to.toISOString(), added: texts(added), removed: texts(removed) }
}

function submitted<Answer extends { readonly id: string }>(call: Pick<Call, 'headers' | 'root'>, answer: Answer): Answer {
  call.headers.set('Location', `${call.root}/occurrences/${answer.id}`)
  return answer
}

/** If-Match carries the version that the change was made against. */
function changeOptions(call: Call<'jobs.update' | 'jobs.rollback' | 'jobs.reset'>, update: unknown, reason: string | undefined) {
  const match = call.given['if-match']
  const [, version] = /^(?:W\/)?"(\d{1,9})"$/.exec(match ?? '') ?? []
  if (match !== undefined && match !== '*' && version === undefined)
    throw new Refusal('request.invalid', 'If-Match must be the ETag of the job, such as "7", or *', { field: 'if-match' })
  return {
    tenant: tenantOf(call, call.query.tenant),
    by: call.caller.name,
    ...(reason !== undefined && { reason }),
    ...(update !== undefined && { update: update as never }),
    ...(version !== undefined && { expectedVersion: Number(version) }),
  }
}

/** Differences of payloads are shown whole or not at all. */
function mayReadPayload(call: Pick<Call, 'caller'>, spec: JobRecord['spec'] | undefined): boolean {
  return hasRole(call.caller, 'operator') && (!spec || hiddenPaths(call, spec).length === 0)
}

function hidden(items: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[], mayRead: boolean) {
  return items.map((change) =>
    mayRead || !change.field.startsWith('payload') ? { ...change } : { field: change.field, from: null, to: null },
  )
}
