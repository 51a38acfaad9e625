import { extname } from 'node:path'
import { PunctualError } from '../../errors.ts'
import { type Clock, systemClock } from '../../time/clock.ts'
import type { Ability } from '../abilities.ts'
import type { OccurrenceFilter } from '../query.ts'
import type {
  Beat,
  CancelRequest,
  CheckpointItem,
  ClaimRef,
  ClaimRequest,
  Hint,
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
  Store,
  StoreEnv,
  Which,
} from '../store.ts'
import { beat } from './beat.ts'
import { cancel, move } from './cancel.ts'
import { checkpoint } from './checkpoint.ts'
import { canFollow, claim } from './claim.ts'
import type { Context } from './context.ts'
import { create, firstDue } from './create.ts'
import { Database, type Session, type Source } from './database.ts'
import { Dictionary } from './dictionary.ts'
import { peek, waiting } from './due.ts'
import { Facts, readPauses } from './facts.ts'
import { ConflictError, storeFailure } from './failure.ts'
import { Floors } from './floors.ts'
import { HeadStart } from './head-start.ts'
import { jobsToPlan, readJobs, readVersions } from './job-read.ts'
import { putJob } from './jobs.ts'
import { KnownClaims } from './known-claims.ts'
import { list } from './list.ts'
import { Hints } from './listen.ts'
import { bringUp } from './migrate.ts'
import { nodes } from './nodes.ts'
import { checkPostgresOptions, checkSource, type PostgresOptions } from './options.ts'
import { pause } from './pauses.ts'
import { plan } from './plan.ts'
import { type PruneCursor, prune } from './prune.ts'
import { counts, get, listRanges } from './read.ts'
import { refreshBlocks } from './refresh-blocks.ts'
import { rescue } from './rescue.ts'
import { settle } from './settle.ts'
import { Untold } from './untold.ts'
import { warmUp } from './warm-up.ts'

/** What one opening of the store lasts for. */
interface Opened {
  /** Another one after every loss of a connection; calls under way keep theirs. */
  context: Context
  readonly clock: Clock
  readonly claiming: { readonly known: KnownClaims; readonly floors: Floors }
  readonly headStart: HeadStart
  readonly hints: Hints
  readonly untold: Untold
  readonly pruned: PruneCursor & { page: number }
}

interface Acted<Answer> {
  readonly answer: Answer
  readonly hints: readonly Hint[]
  /** Other processes have been told of the hints. */
  readonly isTold?: boolean | undefined
  /** Nobody in this process has to be told. */
  readonly isKnownHere?: boolean
}

export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly abilities: ReadonlySet<Ability> = new Set(['tx', 'join', 'durable', 'many-processes'])
  readonly batchLimit = 2000
  readonly reopen?: Reopen
  readonly #source: Source
  readonly #options: ReturnType<typeof checkPostgresOptions>
  /** Who listens, and how to take that back. */
  readonly #listeners = new Map<(hint: Hint) => void, () => void>()
  /** Who has opened the store: it closes with the last of them. */
  readonly #users = new Set<StoreEnv>()
  #opened: Opened | null = null

  constructor(source: Source, options: PostgresOptions) {
    this.#options = checkPostgresOptions(options)
    this.#source = checkSource(source)
    const module = new URL(`index${extname(import.meta.url)}`, import.meta.url).href
    if (typeof source === 'string') this.reopen = { module, factory: 'postgres', given: [source, options] }
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
    opened.hints.start(opened.clock)
  }

  async close() {
    const [user] = this.#users
    if (user) this.#users.delete(user)
    const opened = this.#opened
    if (this.#users.size > 0 || !opened) return
    this.#opened = null
    await opened.hints.stop()
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
    return this.#read(({ context }) => readPauses(context.db, since))
  }
  async jobsToPlan(query: { horizonMs: number; limit: number }) {
    return this.#read(({ context }) => jobsToPlan(context, query))
  }
  async plan(plans: readonly JobPlan[]) {
    return this.#act(async ({ context }) => renamed(await plan(context, plans)))
  }
  async create(rows: readonly NewOccurrence[], tx?: Queryable) {
    if (tx) return this.#join(tx, (joined, context) => create(context, rows, { joined }))
    return this.#act(async ({ context, clock, hints, headStart }) => {
      const sentAt = clock.mono()
      // The server's clock shows whole milliseconds, and what it has told is never ahead of it.
      const now = Math.floor(context.guessNow())
      const due = firstDue(rows, now)
      const along = hints.along(due)
      const { created, isFollowed } =
        due > now || hints.hearers !== 1
          ? { created: await create(context, rows, { along }), isFollowed: false }
          : await headStart.lead(
              () => hints.tell([{ kind: 'due', at: due }]),
              (onSent) => create(context, rows, { along, onSent }),
            )
      if (created.isTold) hints.wentAlong(clock.mono() - sentAt)
      // A claim looks from the time on that it was told of, which was a guess.
      const wasFound = created.hints.every((hint) => hint.kind !== 'due' || hint.at >= due)
      return { ...renamed(created), isTold: created.isTold, isKnownHere: isFollowed && wasFound }
    })
  }
  async peek(query: { kinds: readonly string[] }) {
    return this.#read(async ({ context, claiming }) => {
      const found = await peek(context, query)
      // It was read from the beginning: the claim that follows must not begin behind it.
      if (found.nextDue !== null) claiming.floors.lower(found.nextDue)
      return found
    })
  }
  async waiting(query: { kinds: readonly string[] }) {
    return this.#read(({ context }) => waiting(context, query))
  }
  async claim(request: ClaimRequest) {
    return this.#act(async ({ context, claiming, headStart }) => {
      const lead = canFollow(context, request) ? headStart.take() : null
      const claimed = await claim(context, { ...claiming, follow: lead?.follow ?? null }, request)
      if (claimed.answer.members.length > 0) await lead?.answered
      return claimed
    })
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    if (items.every(({ within }) => within === undefined)) return this.#read(({ context }) => checkpoint(context, items))
    const { context, hints, untold } = this.#isOpen()
    const answers = await checkpoint(context, items)
    // The work may have created more, in the transaction that was just committed.
    if (untold.isAny) hints.announce(untold.hints(context.guessNow()))
    return answers
  }
  async settle(items: readonly SettleItem[], done: readonly ClaimRef[]) {
    return this.#act(async ({ context, claiming }) => renamed(await settle(context, claiming.known, items, done)))
  }
  async cancel(request: CancelRequest, tx?: Queryable) {
    if (tx) return this.#join(tx, (session, context) => cancel(session, context, request))
    return this.#act(async ({ context }) => renamed(await context.db.transaction((session) => cancel(session, context, request))))
  }
  async move(request: MoveRequest) {
    return this.#act(({ context }) => context.db.transaction((session) => move(session, context, request)))
  }
  async beat(one: Beat) {
    return this.#act(async ({ context, clock, hints }) => {
      const isWarming = one.phase === 'join' && clock === systemClock
      const [beaten] = await Promise.all([beat(context, one), isWarming ? warmUp(context, hints.channel) : null])
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
  async wake() {
    await this.#read(({ context, hints, untold }) => hints.announceNow(untold.hints(context.guessNow())))
  }
  get isHearing() {
    return this.#opened?.hints.isHearing ?? false
  }
  subscribe(listener: (hint: Hint) => void) {
    this.#listeners.get(listener)?.()
    this.#listeners.set(listener, this.#opened ? hear(this.#opened, listener) : () => {})
    return () => {
      this.#listeners.get(listener)?.()
      this.#listeners.delete(listener)
    }
  }

  /** A verb that may have something to tell others. */
  async #act<Answer>(act: (opened: Opened) => Promise<Acted<Answer>>): Promise<Answer> {
    const opened = this.#isOpen()
    const { answer, hints, isTold = false, isKnownHere = false } = await this.#underWay(opened.clock, () => act(opened))
    for (const hint of hints) if (hint.kind === 'due') opened.claiming.floors.lower(hint.at)
    if (!isKnownHere) opened.hints.tell(hints)
    if (!isTold) opened.hints.tellOthers(hints)
    return answer
  }

  /** Acts in a transaction of the caller's, where nobody can be told yet. What the caller's client throws stays as it is. */
  async #join<Answer>(
    tx: Queryable,
    act: (session: Session, context: Context) => Promise<{ answers: Answer; hints: readonly Hint[] }>,
  ): Promise<Answer> {
    const { context, clock, untold } = this.#isOpen()
    try {
      const { answers, hints } = await this.#underWay(clock, () => act(context.db.joined(tx), context))
      untold.note(hints)
      return answers
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

  #connect({ clock, random }: StoreEnv): Opened {
    const { schema, prepare, compat, listenUrl } = this.#options
    const onCall = (call: Promise<unknown>) => clock.waitFor?.(call)
    const db = new Database(this.#source, { schema, prepare, random, onCall, onLoss: () => forget(opened) })
    const isReal = clock === systemClock
    let told = { now: clock.wall(), at: clock.mono() }
    const context: Context = {
      db,
      ...nothingKnown(db),
      isCompat: compat,
      now: () => (isReal ? null : Math.floor(clock.wall())),
      guessNow: () => (isReal ? told.now + clock.mono() - told.at : Math.floor(clock.wall())),
      noteNow: (now) => {
        told = { now, at: clock.mono() }
      },
    }
    const floors = new Floors(isReal ? () => clock.mono() : null)
    const hints = new Hints(context, compat ? false : listenUrl)
    const untold = new Untold(() => clock.mono())
    const claiming = { known: new KnownClaims(), floors }
    const headStart = new HeadStart(clock)
    const opened: Opened = { context, clock, claiming, headStart, hints, untold, pruned: { front: 0, next: 0, page: 0 } }
    for (const listener of this.#listeners.keys()) this.#listeners.set(listener, hear(opened, listener))
    return opened
  }
}

function nothingKnown(db: Database): Pick<Context, 'dictionary' | 'facts'> {
  return { dictionary: new Dictionary(db.apart), facts: new Facts() }
}

/**
 * A standby that has become the primary may lack the last of what was committed, and give the same numbers to other names. What
 * was read before is read again.
 */
function forget(opened: Opened): void {
  opened.context = { ...opened.context, ...nothingKnown(opened.context.db) }
}

/** Has the store listen as well, but only beside somebody else: a process that only creates work need not hear of any. */
function hear({ hints, claiming }: Opened, listener: (hint: Hint) => void): () => void {
  return hints.subscribe((hint) => {
    if (hint.kind === 'due') claiming.floors.lower(hint.at)
    listener(hint)
  })
}

function renamed<Answer>({ answers, hints }: { answers: Answer; hints: readonly Hint[] }): {
  answer: Answer
  hints: readonly Hint[]
} {
  return { answer: answers, hints }
}
