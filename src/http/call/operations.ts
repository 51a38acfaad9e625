import type { ListFilter } from '../../client/list-filter.ts'
import type { Occurrence } from '../../client/occurrence-view.ts'
import { builtInPrefix } from '../../engine/node/registry.ts'
import type { OccurrenceSummary } from '../../model/occurrence.ts'
import type { Page } from '../../store/query.ts'
import { hasRole } from '../access/identity.ts'
import { isoOrNull, wireError } from '../board/line.ts'
import { Refusal } from '../problem.ts'
import type { WireOperation, WireOperationPreview, WireOperationRequest } from '../wire.ts'
import { bodyTenant, by, type Call, type Calls, defined, maySee, scopeOf, tenantOf } from './call.ts'

/** The built-in jobs whose occurrences are operations. */
export const builtInJobs = ['backfill', 'replay', 'retry', 'discard', 'cancel'].map((name) => `${builtInPrefix}${name}`)

const defaultPage = 50

/** Things done over many occurrences. Each is an occurrence of a built-in job. */
export const operationCalls: Calls<
  'operations.list' | 'operations.get' | 'operations.preview' | 'operations.start' | 'operations.abort'
> = {
  'operations.list': async (call) => {
    const { limit = defaultPage, cursor } = call.query
    const tenant = scopeOf(call, call.query.tenant)
    const { store } = call.desk.env
    const places = cursor === undefined ? builtInJobs.map(() => '') : decodePlaces(cursor)
    const pageOf = async (at: number, most: number): Promise<Page<OccurrenceSummary>> => {
      const place = places[at] as Place
      if (place === null) return { items: [], cursor: null }
      const job = builtInJobs[at] as string
      return store.list({ job, limit: most, ...(tenant !== undefined && { tenant }), ...(place !== '' && { cursor: place }) })
    }
    const pages = await Promise.all(builtInJobs.map((_, at) => pageOf(at, limit)))
    const lines = pages
      .flatMap((page, at) => page.items.map((line) => ({ line, at })))
      .sort((a, b) => b.line.createdAt - a.line.createdAt)
    const shown = lines.slice(0, limit)
    const next = await Promise.all(
      pages.map(async (page, at): Promise<Place> => {
        const { length } = shown.filter((one) => one.at === at)
        if (length === 0) return page.items.length === 0 ? null : (places[at] as Place)
        return length === page.items.length ? page.cursor : (await pageOf(at, length)).cursor
      }),
    )
    return {
      items: await Promise.all(shown.map(({ line }) => operation(call, line.id))),
      cursor: next.every((place) => place === null) ? null : encodePlaces(next),
    }
  },
  'operations.get': async (call) => operation(call, call.params.id),
  'operations.preview': async (call) => previewed(call, call.body),
  'operations.start': async (call) => {
    const { body, desk } = call
    if (body.kind === 'backfill') {
      const options = { ...backfillOptions(call, body), reason: body.reason, by: call.caller.name }
      const { id } = await desk.punctual.backfill(body.job, defined(options))
      return located(call, id)
    }
    const filter = listFilter(call, body.filter)
    const { punctual } = desk
    const { reason } = body
    const author = call.caller.name
    const started =
      body.kind === 'replay'
        ? punctual.replayAll(filter, { reason, by: author })
        : body.kind === 'retry'
          ? punctual.retryAll(filter, defined({ reason, by: author, spread: body.spread }))
          : body.kind === 'discard'
            ? punctual.discardAll(filter, { reason, by: author })
            : punctual.cancelAll(filter, { reason, by: author })
    return located(call, (await started).id)
  },
  'operations.abort': async (call) => {
    await operation(call, call.params.id)
    return { outcome: await call.desk.punctual.cancel(call.params.id, by(call)) }
  },
}

/** Where the list of one kind goes on: at a cursor, from the beginning (''), or not at all. */
type Place = string | null

function encodePlaces(places: readonly Place[]): string {
  return Buffer.from(JSON.stringify(places)).toString('base64url')
}

function decodePlaces(cursor: string): readonly Place[] {
  try {
    const places: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const isPlace = (one: unknown) => one === null || typeof one === 'string'
    if (Array.isArray(places) && places.length === builtInJobs.length && places.every(isPlace)) return places
  } catch {}
  throw new Refusal('request.invalid', 'The cursor must be one that this list has returned', { field: 'cursor' })
}

function located(call: Pick<Call, 'headers' | 'root'>, id: string): { id: string } {
  call.headers.set('Location', `${call.root}/operations/${id}`)
  return { id }
}

function listFilter(
  call: Pick<Call, 'caller'>,
  filter: Extract<WireOperationRequest, { filter: unknown }>['filter'],
): ListFilter {
  const { tenant: _, source, ...rest } = filter
  if (source !== undefined)
    throw new Refusal('request.invalid', 'An operation cannot be kept to a source', { field: 'filter.source' })
  const tenant = filter.tenant === undefined ? scopeOf(call, undefined) : bodyTenant(call, filter.tenant)
  return defined({ ...rest, tenant }) as ListFilter
}

function backfillOptions(
  call: Call<'operations.preview'> | Call<'operations.start'>,
  { tenant, from, to, mode, concurrency }: Extract<WireOperationRequest, { kind: 'backfill' }>,
) {
  return defined({ tenant: tenant ? bodyTenant(call, tenant) : tenantOf(call, undefined), from, to, mode, concurrency })
}

async function previewed(call: Call<'operations.preview'>, body: WireOperationRequest): Promise<WireOperationPreview> {
  const { punctual } = call.desk
  if (body.kind === 'backfill') {
    const { instants, count, first, existing } = await punctual.previewBackfill(body.job, backfillOptions(call, body))
    const leftOut = Object.entries(existing).map(([state, number]) => ({ reason: `already ${state}`, count: number }))
    return {
      ...{ kind: body.kind, matches: instants, capped: false, acts: count },
      leftOut: count === instants ? [] : leftOut,
      first: first.slice(0, 100).map((at) => at.toISOString()),
      warnings: [],
    }
  }
  const filter = listFilter(call, body.filter)
  const options = { reason: body.reason, dryRun: true } as const
  const preview = await (body.kind === 'replay'
    ? punctual.replayAll(filter, options)
    : body.kind === 'retry'
      ? punctual.retryAll(filter, options)
      : body.kind === 'discard'
        ? punctual.discardAll(filter, options)
        : punctual.cancelAll(filter, options))
  const { matches, capped, acts, first } = preview
  return {
    ...{ kind: body.kind, matches, capped, acts, first: [...first] },
    leftOut: matches > acts ? [{ reason: 'of another kind', count: matches - acts }] : [],
    warnings: body.kind === 'retry' ? await causePersists(call, body.filter) : [],
  }
}

/** A cause that struck within the last minutes will strike again. */
async function causePersists(
  call: Call<'operations.preview'>,
  filter: { cause?: string | undefined; tenant?: string | undefined },
): Promise<string[]> {
  if (filter.cause === undefined) return []
  const { store, time } = call.desk.env
  const tenant = scopeOf(call, filter.tenant)
  const [newest] = (await store.list({ cause: filter.cause, limit: 1, ...(tenant !== undefined && { tenant }) })).items
  const age = time.now() - (newest?.endedAt ?? 0)
  return age < 5 * 60_000
    ? [
        `The cause is still there: it last occurred ${age < 60_000 ? `${Math.max(1, Math.round(age / 1000))} s` : `${Math.floor(age / 60_000)} m`} ago`,
      ]
    : []
}

async function operation(call: Pick<Call, 'caller' | 'desk'>, id: string): Promise<WireOperation> {
  const found = await call.desk.punctual.get(id)
  if (!found || !maySee(call, found.tenant) || !builtInJobs.includes(found.job))
    throw new Refusal('operation.unknown', `There is no operation ${id}`, { field: 'id' })
  return wireOperation(found, hasRole(call.caller, 'operator'))
}

function wireOperation(one: Occurrence, mayRead: boolean): WireOperation {
  const request = (one.payload ?? {}) as { job?: unknown; reason?: unknown; by?: unknown; filter?: { job?: unknown } }
  const text = (value: unknown) => (typeof value === 'string' ? value : null)
  return {
    id: one.id,
    kind: one.job.slice(builtInPrefix.length),
    tenant: one.tenant,
    job: text(request.job) ?? text(request.filter?.job),
    state: one.state,
    by: text(request.by),
    reason: text(request.reason),
    createdAt: one.createdAt.toISOString(),
    startedAt: isoOrNull(one.startedAt),
    endedAt: isoOrNull(one.endedAt),
    done: one.state === 'completed' ? 1 : (one.progress?.done ?? null),
    message: one.progress?.message ?? null,
    request: mayRead ? request : null,
    result: one.result ?? null,
    error: wireError(one.error, mayRead),
  }
}
