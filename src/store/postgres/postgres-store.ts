import { extname } from 'node:path'
import { PunctualError } from '../../errors.ts'
import { type Clock, systemClock } from '../../time/clock.ts'
import type { Ability } from '../abilities.ts'
import type { OccurrenceFilter } from '../query.ts'
import type {
  Beat,
  CancelRequest,
  CheckpointItem,
  ClaimRequest,
  CreateOptions,
  Hint,
  Hints,
  JobPlan,
  JobPut,
  JobQuery,
  MoveRequest,
  NewOccurrence,
  PauseRequest,
  PruneRequest,
  Queryable,
  Reopen,
  RescueRequest,
  SettleItem,
  SettleOptions,
  Store,
  StoreEnv,
  Which,
} from '../store.ts'
import { beat } from './beat.ts'
import { cancel } from './cancel.ts'
import { checkpoint } from './checkpoint.ts'
import { claim } from './claim.ts'
import type { Source } from './connection/database.ts'
import { ConflictError, storeFailure } from './connection/failure.ts'
import { connect, listen, type Opened } from './connection/opened.ts'
import type { Session } from './connection/session.ts'
import { warmUp } from './connection/warm-up.ts'
import type { Context } from './context.ts'
import { counts } from './counts.ts'
import { create, firstDue } from './create.ts'
import { get } from './get.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { refreshBlocks } from './list/refresh-blocks.ts'
import { list, listRanges } from './list.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { checkPostgresOptions, checkSource, type PostgresOptions } from './options.ts'
import { pause, selectPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { bringUp } from './schema/migrate.ts'
import { settle } from './settle.ts'

interface Acted<Answer> {
  readonly answer: Answer
  readonly hints: readonly Hint[]
  /** Other processes were notified. */
  readonly isTold?: boolean | undefined
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
  #opened: Opened | null = null

  constructor(source: Source, options: PostgresOptions) {
    this.#options = checkPostgresOptions(options)
    this.#source = checkSource(source)
    const module = new URL(`index${extname(import.meta.url)}`, import.meta.url).href
    if (typeof source === 'string') this.reopen = { module, factory: 'postgres', given: [source, options] }
    const isLive = () => this.#opened?.line.isLive ?? false
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
    opened.line.start(opened.clock)
  }

  async close() {
    const [user] = this.#users
    if (user) this.#users.delete(user)
    const opened = this.#opened
    if (this.#users.size > 0 || !opened) return
    this.#opened = null
    await opened.line.stop()
    await opened.context.db.close()
  }

  async putJob(put: JobPut) {
    return this.#act(({ context }) => putJob(context, put))
  }
  async readJobs(query: JobQuery) {
    return this.#read(({ context }) => readJobs(context, query))
  }
  async readVersions(query: { tenant: string; name: string }) {
    return this.#read(({ context }) => readVersions(context, query))
  }
  async pause(request: PauseRequest) {
    return this.#act(({ context }) => pause(context, request))
  }
  async readPauses({ since }: { since?: number }) {
    return this.#read(({ context }) => selectPauses(context.db, since))
  }
  async jobsToPlan(query: { horizonMs: number; limit: number }) {
    return this.#read(({ context }) => jobsToPlan(context, query))
  }
  async plan(plans: readonly JobPlan[]) {
    return this.#act(({ context }) => plan(context, plans))
  }
  async create(rows: readonly NewOccurrence[], { tx, claim: request }: CreateOptions = {}) {
    if (tx) {
      const joined = await this.#join(tx as Queryable, async (session, context) => {
        const created = await create(context, rows, { joined: session })
        return { answer: created.rows, hints: created.hints }
      })
      return { rows: joined, claimed: null }
    }
    return this.#act(async ({ context, clock, line, floors }) => {
      const sentAt = clock.mono()
      // The server's clock shows whole milliseconds, and what it has told is never ahead of it.
      const along = request ? null : line.along(firstDue(rows, Math.floor(context.guessNow())))
      if (request) await context.names.addKinds(request.kinds)
      const created = await create(context, rows, { along, claiming: request ? { request, floors } : null })
      if (created.isTold) line.wentAlong(clock.mono() - sentAt)
      return { answer: { rows: created.rows, claimed: created.claimed ?? null }, hints: created.hints, isTold: created.isTold }
    })
  }
  async peek(query: { kinds: readonly string[] }) {
    return this.#read(async ({ context, floors }) => {
      const found = await peek(context, query)
      // It was read from the beginning: the claim that follows must not begin behind it.
      if (found.nextDue !== null) floors.lower(found.nextDue)
      return found
    })
  }
  async backlog(query: { kinds: readonly string[] }) {
    return this.#read(({ context }) => backlog(context, query))
  }
  async claim(request: ClaimRequest) {
    return this.#act(({ context, floors }) => claim(context, floors, request))
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    if (items.every(({ within }) => within === undefined)) return this.#read(({ context }) => checkpoint(context, items))
    const { context, line, unannounced } = this.#isOpen()
    const answers = await checkpoint(context, items)
    // The work may have created more, in the transaction that was just committed.
    if (unannounced.isAny) line.announce(unannounced.hints(context.guessNow()))
    return answers
  }
  async settle(items: readonly SettleItem[], options: SettleOptions = {}) {
    return this.#act(({ context, floors }) => settle(context, floors, items, options))
  }
  async cancel(request: CancelRequest, tx?: unknown) {
    if (tx) return this.#join(tx as Queryable, (session, context) => cancel(session, context, request))
    return this.#act(({ context }) => cancel(context.db, context, request))
  }
  async move(request: MoveRequest) {
    return this.#act(({ context }) => context.db.transaction((session) => move(session, context, request)))
  }
  async beat(one: Beat) {
    return this.#act(async ({ context, clock, line }) => {
      const isWarming = one.phase === 'join' && clock === systemClock
      const [beaten] = await Promise.all([beat(context, one), isWarming ? warmUp(context, line.channel) : null])
      return beaten
    })
  }
  async rescue(request: RescueRequest) {
    return this.#act(({ context }) => rescue(context, request))
  }
  async prune(request: PruneRequest) {
    return this.#act(async ({ context, pruned }) => {
      const done = await prune(context, pruned, request)
      if (done.answer.pruned > 0) pruned.page = await refreshBlocks(context, pruned.page)
      return done
    })
  }
  async get(which: Which) {
    return this.#read(({ context }) => get(context, which))
  }
  async list(filter: OccurrenceFilter) {
    return this.#read(({ context }) => list(context, filter))
  }
  async listRanges(query: { tenant?: string; job?: string; limit: number }) {
    return this.#read(({ context }) => listRanges(context, query))
  }
  async counts(query: { tenant?: string; job?: string }) {
    return this.#read(({ context }) => counts(context, query))
  }
  async nodes() {
    return this.#read(({ context }) => nodes(context))
  }

  async #wake(): Promise<void> {
    const { context, line, unannounced, floors } = this.#isOpen()
    const hints = unannounced.hints(context.guessNow())
    for (const hint of hints) if (hint.kind === 'due') floors.lower(hint.at)
    await line.announceNow(hints)
  }

  #subscribe(listener: (hint: Hint) => void): () => void {
    this.#listeners.get(listener)?.()
    this.#listeners.set(listener, this.#opened ? listen(this.#opened, listener) : () => {})
    return () => {
      this.#listeners.get(listener)?.()
      this.#listeners.delete(listener)
    }
  }

  /** A verb that may have news for others. */
  async #act<Answer>(act: (opened: Opened) => Promise<Acted<Answer>>): Promise<Answer> {
    const opened = this.#isOpen()
    const { answer, hints, isTold = false } = await this.#underWay(opened.clock, () => act(opened))
    for (const hint of hints) if (hint.kind === 'due') opened.floors.lower(hint.at)
    opened.line.tell(hints)
    if (!isTold) opened.line.tellOthers(hints)
    return answer
  }

  /** Acts in a caller's transaction, where nothing can be announced yet. Errors of the caller's client stay as they are. */
  async #join<Answer>(
    tx: Queryable,
    act: (session: Session, context: Context) => Promise<{ answer: Answer; hints: readonly Hint[] }>,
  ): Promise<Answer> {
    const { context, clock, unannounced } = this.#isOpen()
    try {
      const { answer, hints } = await this.#underWay(clock, () => act(context.db.joined(tx), context))
      unannounced.note(hints)
      return answer
    } catch (error) {
      throw error instanceof ConflictError ? storeFailure(error) : error
    }
  }

  async #read<Answer>(act: (opened: Opened) => Promise<Answer>): Promise<Answer> {
    const opened = this.#isOpen()
    return this.#underWay(opened.clock, () => act(opened))
  }

  /** No time passes in the middle of a call, where the clock is moved by hand. */
  #underWay<Answer>(clock: Clock, act: () => Promise<Answer>): Promise<Answer> {
    const call = act()
    clock.waitFor?.(call)
    return call
  }

  #isOpen(): Opened {
    if (this.#opened) return this.#opened
    throw new PunctualError('store.closed', 'The PostgreSQL store is not open; open it first')
  }

  #connect(env: StoreEnv): Opened {
    const opened = connect(this.#source, this.#options, env)
    for (const listener of this.#listeners.keys()) this.#listeners.set(listener, listen(opened, listener))
    return opened
  }
}
