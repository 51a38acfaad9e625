import { extname } from 'node:path'
import { PunctualError } from '../../errors.ts'
import { type Clock, systemClock } from '../../time/clock.ts'
import type { Ability } from '../abilities.ts'
import type { OccurrenceFilter } from '../query.ts'
import type {
  AuditAnswerTo,
  AuditQuery,
  Beat,
  CancelRequest,
  CheckpointItem,
  ClaimRequest,
  CountsQuery,
  CreateOptions,
  GateAnswerTo,
  GateRequest,
  Hint,
  Hints,
  NewOccurrence,
  PruneRequest,
  Queryable,
  Reopen,
  SettleItem,
  SettleOptions,
  Store,
  StoreEnv,
} from '../store.ts'
import { listAudit } from './audit.ts'
import { beat } from './beat.ts'
import { cancel } from './cancel.ts'
import { checkpoint } from './checkpoint.ts'
import { claim } from './claim.ts'
import type { Source } from './connection/database.ts'
import { ConflictError, storeFailure } from './connection/failure.ts'
import { gathered } from './connection/gathered.ts'
import { connect, listen, type OpenStore } from './connection/open-store.ts'
import type { Session } from './connection/session.ts'
import { joinWarm } from './connection/warm-up.ts'
import type { Acted, Context } from './context.ts'
import { counts, countsOfJobs } from './counts.ts'
import { create, firstDue } from './create.ts'
import { figures } from './figures.ts'
import { gate } from './gate.ts'
import { get } from './get.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { list, listRanges, type PageQuery, pageQuery } from './list.ts'
import { listDue } from './list-due.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { checkPostgresOptions, checkSource, type PostgresOptions } from './options.ts'
import { pause, readPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { bringUp } from './schema/migrate.ts'
import { settle } from './settle.ts'
import { tokens } from './tokens.ts'

interface Sent<Answer> extends Acted<Answer> {
  /** Other processes were notified. */
  readonly isSent?: boolean | undefined
}

export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly abilities: ReadonlySet<Ability> = new Set(['tx', 'join', 'durable', 'many-processes'])
  readonly batchLimit = 2000
  readonly hints: Hints
  readonly reopen?: Reopen
  readonly #source: Source
  readonly #options: ReturnType<typeof checkPostgresOptions>
  /** The listeners, and how to remove each. */
  readonly #listeners = new Map<(hint: Hint) => void, () => void>()
  /** The engines that have opened the store: it closes with the last of them. */
  readonly #users = new Set<StoreEnv>()
  readonly #counts = gathered((queries: readonly CountsQuery[]) => countsOfJobs(this.#isOpen().context, queries))
  readonly #lists = gathered((queries: readonly PageQuery[]) => list(this.#isOpen().context, queries))
  #opened: OpenStore | null = null

  constructor(source: Source, options: PostgresOptions) {
    this.#options = checkPostgresOptions(options)
    this.#source = checkSource(source)
    const module = new URL(`index${extname(import.meta.url)}`, import.meta.url).href
    if (typeof source === 'string') this.reopen = { module, factory: 'postgres', given: [source, options] }
    const isLive = () => this.#opened?.notifier.isLive ?? false
    this.hints = {
      subscribe: (listener) => this.#subscribe(listener),
      wake: () => this.#wake(),
      get isLive() {
        return isLive()
      },
    }
  }

  async open(env: StoreEnv) {
    const opened = this.#opened ?? this.#connect(env)
    try {
      await this.#underWay(opened.clock, () => bringUp(opened.context.db, this.#options))
    } catch (error) {
      if (this.#users.size === 0) await opened.context.db.close()
      throw error
    }
    this.#opened = opened
    this.#users.add(env)
    opened.notifier.start(opened.clock)
  }

  async close() {
    const [user] = this.#users
    if (user) this.#users.delete(user)
    const opened = this.#opened
    if (this.#users.size > 0 || !opened) return
    this.#opened = null
    await opened.notifier.stop()
    await opened.context.db.close()
  }

  readonly putJob = this.#acts(putJob)
  readonly readJobs = this.#reads(readJobs)
  readonly readVersions = this.#reads(readVersions)
  readonly pause = this.#acts(pause)
  readonly readPauses = this.#reads(readPauses)
  readonly jobsToPlan = this.#reads(jobsToPlan)
  readonly plan = this.#acts(plan)
  async create(rows: readonly NewOccurrence[], { tx, claim: request, audit }: CreateOptions = {}) {
    if (tx) {
      const joined = await this.#join(tx as Queryable, async (session, context) => {
        const created = await create(context, rows, { joined: session, audit })
        return { answer: created.rows, hints: created.hints }
      })
      return { rows: joined, claimed: null }
    }
    return this.#act(async ({ context, clock, notifier, laneStarts }) => {
      const sentAt = clock.mono()
      // The server's clock shows whole milliseconds, and a time that it has returned is never ahead of it.
      const along = request ? null : notifier.along(firstDue(rows, Math.floor(context.guessNow())))
      if (request) await context.names.addKinds(request.kinds)
      const created = await create(context, rows, { along, claiming: request ? { request, laneStarts } : null, audit })
      if (created.isSent) notifier.wentAlong(clock.mono() - sentAt)
      return { answer: { rows: created.rows, claimed: created.claimed ?? null }, hints: created.hints, isSent: created.isSent }
    })
  }
  async peek(query: { kinds: readonly string[] }) {
    return this.#read(async ({ context, laneStarts }) => {
      const found = await peek(context, query)
      // It was read from the beginning: the claim that follows must not begin behind it.
      if (found.nextDue !== null) laneStarts.lower(found.nextDue)
      return found
    })
  }
  readonly backlog = this.#reads(backlog)
  async claim(request: ClaimRequest) {
    return this.#act(({ context, laneStarts }) => claim(context, laneStarts, request))
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    if (items.every(({ within }) => within === undefined)) return this.#read(({ context }) => checkpoint(context, items))
    const { context, notifier, callerWrites } = this.#isOpen()
    const answers = await checkpoint(context, items)
    // The work may have created more, in the transaction that was just committed.
    if (callerWrites.isAny) notifier.announce(callerWrites.hints(context.guessNow()))
    return answers
  }
  async settle(items: readonly SettleItem[], options: SettleOptions = {}) {
    return this.#act(({ context, laneStarts }) => settle(context, laneStarts, items, options))
  }
  async cancel(request: CancelRequest, tx?: unknown) {
    if (tx) return this.#join(tx as Queryable, (session, context) => cancel(session, context, request))
    const isOneStatement = !request.audit && request.keyVersion === undefined
    if (isOneStatement) return this.#act(({ context }) => cancel(context.db, context, request))
    return this.#act(({ context }) => context.db.transaction((session) => cancel(session, context, request)))
  }
  readonly move = this.#acts(move)
  async gate<Request extends GateRequest>(request: Request) {
    const { context, notifier, callerWrites, clock } = this.#isOpen()
    if (request.act !== 'reserve' || !request.within)
      return this.#underWay(clock, () => gate(context, request) as Promise<GateAnswerTo<Request>>)
    const answer = (await gate(context, request)) as GateAnswerTo<Request>
    // The effect may have created work, in the transaction that was just committed.
    if (callerWrites.isAny) notifier.announce(callerWrites.hints(context.guessNow()))
    return answer
  }
  async listAudit<Query extends AuditQuery>(query: Query) {
    return (await this.#read(({ context }) => listAudit(context, query))) as AuditAnswerTo<Query>
  }
  async beat(one: Beat) {
    return this.#act(({ context, clock }) => {
      const isWarming = one.phase === 'join' && clock === systemClock
      return isWarming ? joinWarm(context, () => beat(context, one)) : beat(context, one)
    })
  }
  readonly rescue = this.#acts(rescue)
  async prune(request: PruneRequest) {
    return this.#act(({ context, pruned }) => prune(context, pruned, request))
  }
  readonly get = this.#reads(get)
  async list(filter: OccurrenceFilter) {
    const query = pageQuery(filter)
    return this.#read(() => this.#lists(query))
  }
  readonly listRanges = this.#reads(listRanges)
  async counts(query: CountsQuery) {
    const isOfJob = query.job !== undefined && !query.causes && !query.failing && !query.tenants
    return this.#read(({ context }) => (isOfJob ? this.#counts(query) : counts(context, query)))
  }
  readonly listDue = this.#reads(listDue)
  readonly figures = this.#reads(figures)
  readonly tokens = this.#reads(tokens)
  readonly nodes = this.#acts(nodes)

  async #wake(): Promise<void> {
    const { context, notifier, callerWrites, laneStarts } = this.#isOpen()
    const hints = callerWrites.hints(context.guessNow())
    for (const hint of hints) if (hint.kind === 'due') laneStarts.lower(hint.at)
    await notifier.announceNow(hints)
  }

  #subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.get(listener)?.()
    this.#listeners.set(listener, this.#opened ? listen(this.#opened, listener) : () => {})
    return () => {
      this.#listeners.get(listener)?.()
      this.#listeners.delete(listener)
    }
  }

  /** Verbs by their functions. */
  #acts<Given extends unknown[], Answer>(
    act: (context: Context, ...given: Given) => Promise<Acted<Answer>>,
  ): (...given: Given) => Promise<Answer> {
    return (...given) => this.#act(({ context }) => act(context, ...given))
  }

  #reads<Given extends unknown[], Answer>(
    read: (context: Context, ...given: Given) => Promise<Answer>,
  ): (...given: Given) => Promise<Answer> {
    return (...given) => this.#read(({ context }) => read(context, ...given))
  }

  /** A verb that may send hints. */
  async #act<Answer>(act: (opened: OpenStore) => Promise<Sent<Answer>>): Promise<Answer> {
    const opened = this.#isOpen()
    const { answer, hints, isSent = false } = await this.#underWay(opened.clock, () => act(opened))
    for (const hint of hints) if (hint.kind === 'due') opened.laneStarts.lower(hint.at)
    opened.notifier.send(hints)
    if (!isSent) opened.notifier.sendToOthers(hints)
    return answer
  }

  /** Acts in a caller's transaction, where nothing can be announced yet. Errors from the caller's client are not wrapped. */
  async #join<Answer>(tx: Queryable, act: (session: Session, context: Context) => Promise<Acted<Answer>>): Promise<Answer> {
    const { context, clock, callerWrites } = this.#isOpen()
    try {
      const { answer, hints } = await this.#underWay(clock, () => act(context.db.joined(tx), context))
      callerWrites.note(hints)
      return answer
    } catch (error) {
      throw error instanceof ConflictError ? storeFailure(error) : error
    }
  }

  async #read<Answer>(act: (opened: OpenStore) => Promise<Answer>): Promise<Answer> {
    const opened = this.#isOpen()
    return this.#underWay(opened.clock, () => act(opened))
  }

  /** No time passes in the middle of a call, where the clock is moved by hand. */
  #underWay<Answer>(clock: Clock, act: () => Promise<Answer>): Promise<Answer> {
    const call = act()
    clock.waitFor?.(call)
    return call
  }

  #isOpen(): OpenStore {
    if (this.#opened) return this.#opened
    throw new PunctualError('store.closed', 'The PostgreSQL store is not open; open it first')
  }

  #connect(env: StoreEnv): OpenStore {
    const opened = connect(this.#source, this.#options, env)
    for (const listener of this.#listeners.keys()) this.#listeners.set(listener, listen(opened, listener))
    return opened
  }
}
