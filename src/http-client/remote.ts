import { type OperationName, operation } from '../client/operation.ts'
import { type ErrorCode, type ErrorDetails, errorCodes, PunctualError } from '../errors.ts'
import type { WireCreated, WireInput, WireJob, WireOccurrence, WireOccurrenceFilter, WireOutput } from '../http/wire.ts'

/** The options of `createRemote`. */
export interface RemoteOptions {
  /** A token of the server. Without it only servers that are open, or that a proxy lets you into, answer. */
  token?: string | undefined
  /** Further headers of every request. */
  headers?: Readonly<Record<string, string>>
  /** Another `fetch`, as in tests. */
  fetch?: (request: Request) => Promise<Response>
}

type Given<Name extends OperationName> = {
  [Part in keyof WireInput<Name> as undefined extends WireInput<Name>[Part] ? never : Part]: WireInput<Name>[Part]
}
/** The input of a call; parts without required fields may be left out. */
export type RemoteInput<Name extends OperationName> = {
  [Part in keyof Given<Name> as object extends Given<Name>[Part] ? never : Part]: Given<Name>[Part]
} & { [Part in keyof Given<Name> as object extends Given<Name>[Part] ? Part : never]?: Given<Name>[Part] } & {
  signal?: AbortSignal
}

type Arguments<Name extends OperationName> =
  object extends RemoteInput<Name> ? [input?: RemoteInput<Name>] : [input: RemoteInput<Name>]

type EnqueueBody = NonNullable<WireInput<'jobs.enqueue'>['body']>
type TriggerBody = NonNullable<WireInput<'jobs.trigger'>['body']>
type InTenant = { tenant?: string }

/** The id of an occurrence, its job and key, or a job and an entity. */
export type RemoteTarget = string | (InTenant & { job: string; key?: string; idempotencyKey?: string; entity?: string })

/**
 * A scheduler behind the HTTP interface of a server.
 * @example const remote = createRemote('https://jobs.example/', { token: process.env.PUNCTUAL_TOKEN })
 */
export function createRemote(url: string | URL, options: RemoteOptions = {}): Remote {
  return new Remote(new URL(url), options)
}

/** The calls of a server: those of `createPunctual` that make sense from afar, and `call` for every operation. */
export class Remote {
  readonly #root: string
  readonly #options: RemoteOptions

  constructor(url: URL, options: RemoteOptions) {
    this.#root = `${url.origin}${url.pathname.replace(/\/$/, '')}/api/v1`
    this.#options = options
  }

  /** Any operation by its name, with its typed input and output. Refusals throw a `PunctualError`. */
  async call<Name extends OperationName>(name: Name, ...[input]: Arguments<Name>): Promise<WireOutput<Name>> {
    const response = await this.send(name, (input ?? {}) as RemoteParts)
    if (name === 'occurrences.export') return (await response.text()) as WireOutput<Name>
    return (await response.json()) as WireOutput<Name>
  }

  /** Submits work of a job or definition. */
  enqueue(
    job: string,
    payload?: unknown,
    { tenant, ...options }: Omit<EnqueueBody, 'payload'> & InTenant = {},
  ): Promise<WireCreated> {
    return this.call('jobs.enqueue', { params: { job }, query: inTenant(tenant), body: { ...options, payload } })
  }

  /** Runs a job now, once, beside its schedule. */
  trigger(job: string, { tenant, ...body }: TriggerBody & InTenant = {}): Promise<WireCreated> {
    return this.call('jobs.trigger', { params: { job }, query: inTenant(tenant), body })
  }

  /** An occurrence with its history; null when there is none. */
  async get(id: string): Promise<WireOccurrence | null> {
    try {
      return await this.call('occurrences.get', { params: { id } })
    } catch (error) {
      if (error instanceof PunctualError && error.code === 'occurrence.unknown') return null
      throw error
    }
  }

  /** A page of occurrences, the newest first. */
  list(query: WireOccurrenceFilter & { limit?: number; cursor?: string } = {}): Promise<WireOutput<'occurrences.list'>> {
    return this.call('occurrences.list', { query })
  }

  /** Every occurrence that matches, page by page. */
  async *all(query: WireOccurrenceFilter = {}): AsyncGenerator<WireOutput<'occurrences.list'>['items'][number]> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: WireOutput<'occurrences.list'> = await this.list({ ...query, ...(cursor !== undefined && { cursor }) })
      yield* page.items
      cursor = page.cursor
    }
  }

  /** One job. */
  job(job: string, { tenant }: InTenant = {}): Promise<WireJob> {
    return this.call('jobs.get', { params: { job }, query: inTenant(tenant) })
  }

  /** Cancels pending work, signals running work: by its id, by its job and key, or all of a job about an entity. */
  async cancel(target: RemoteTarget, { reason }: { reason?: string } = {}): Promise<string> {
    const because = reason === undefined ? {} : { reason }
    if (typeof target === 'string')
      return (await this.call('occurrences.cancel', { params: { id: target }, body: because })).outcome
    const { job, tenant, ...named } = target
    return (await this.call('jobs.cancel', { params: { job }, query: inTenant(tenant), body: { ...named, ...because } })).outcome
  }

  /** Gives dead work another chance. */
  async retry(id: string, body: { delay?: string | number; runAt?: string } = {}): Promise<void> {
    await this.call('occurrences.retry', { params: { id }, body })
  }

  /** The nodes that work on the store of the server. */
  async nodes(): Promise<WireOutput<'nodes.list'>['items']> {
    return (await this.call('nodes.list')).items
  }

  /** Lets a node finish its work and take no more, by its name or boot id. */
  async drainNode(node: string, body: { reason?: string } = {}): Promise<void> {
    await this.call('nodes.drain', { params: { node }, body })
  }

  /** Deletes the records of work that ended longer ago, and returns their number. */
  async prune(body: { olderThan: string | number; reason?: string }): Promise<number> {
    return (await this.call('occurrences.prune', { body })).pruned
  }

  /** Pauses a job. */
  async pause(
    job: string,
    { tenant, ...body }: { reason?: string; until?: string; for?: string | number } & InTenant = {},
  ): Promise<string> {
    return (await this.call('jobs.pause', { params: { job }, query: inTenant(tenant), body })).outcome
  }

  /** Ends the pause of a job. */
  async resume(job: string, { tenant, ...body }: { reason?: string } & InTenant = {}): Promise<string> {
    return (await this.call('jobs.resume', { params: { job }, query: inTenant(tenant), body })).outcome
  }

  /** The response of an operation as it comes, such as the stream of an export. Refusals throw a `PunctualError`. */
  async send(name: OperationName, { params = {}, query = {}, headers = {}, body, signal }: RemoteParts = {}): Promise<Response> {
    const { method, path, body: schema } = operation(name)
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(String(params[part])))
    const given = Object.entries(query).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)] as [string, string]],
    )
    const search = new URLSearchParams(given).toString()
    const { token, fetch: send = (request) => fetch(request) } = this.#options
    const request = new Request(`${this.#root}${filled}${search && `?${search}`}`, {
      method,
      headers: {
        Accept: 'application/json',
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(schema && { 'Content-Type': 'application/json' }),
        ...this.#options.headers,
        ...headers,
      },
      ...(schema && { body: JSON.stringify(body ?? {}) }),
      ...(signal && { signal }),
    })
    const response = await send(request).catch((cause: unknown) => {
      throw unreachable(this.#root, cause)
    })
    if (!response.ok) throw await refusalOf(response)
    return response
  }
}

/** The parts of a request. */
export interface RemoteParts {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal
}

function inTenant(tenant: string | undefined): { tenant?: string } {
  return tenant === undefined ? {} : { tenant }
}

function unreachable(root: string, cause: unknown): PunctualError {
  const { message, cause: inner } = cause as Error & { cause?: Error }
  const reason = inner?.message || (inner as { code?: string } | undefined)?.code || message
  return new PunctualError('server.unreachable', `The server at ${root} does not answer: ${reason}`, { url: root }, { cause })
}

/** Our codes for those that only HTTP has. */
const ownCodes: Readonly<Record<number, ErrorCode>> = {
  401: 'server.refused',
  403: 'server.refused',
  421: 'server.refused',
  429: 'server.refused',
  500: 'server.unreachable',
  502: 'server.unreachable',
  503: 'server.unreachable',
  504: 'server.unreachable',
}

/** The error that the server had, as if it were thrown here. */
async function refusalOf(response: Response): Promise<PunctualError> {
  const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string; details?: ErrorDetails }
  const { code = 'request.failed', detail = `The server answered with status ${response.status}`, details = {} } = problem
  const isKnown = (errorCodes as readonly string[]).includes(code)
  const own: ErrorCode = isKnown ? (code as ErrorCode) : (ownCodes[response.status] ?? 'option.invalid')
  return new PunctualError(own, detail, { ...details, status: response.status, httpCode: code })
}
