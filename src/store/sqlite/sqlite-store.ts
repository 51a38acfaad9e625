import { extname } from 'node:path'
import { PunctualError } from '../../errors.ts'
import type { Ability } from '../abilities.ts'
import type {
  AuditAnswerTo,
  AuditQuery,
  CancelRequest,
  CheckpointItem,
  CreateOptions,
  FigureAdd,
  FigureQuery,
  GateAnswerTo,
  GateRequest,
  NewOccurrence,
  NodesRequest,
  Reopen,
  Store,
  StoreEnv,
} from '../store.ts'
import { listAudit } from './audit.ts'
import { beat } from './beat.ts'
import { cancel } from './cancel.ts'
import { checkpoint } from './checkpoint.ts'
import { claim } from './claim.ts'
import { inCallersTransaction } from './connection/caller-transaction.ts'
import { Connection } from './connection/connection.ts'
import { storeFailure } from './connection/failure.ts'
import type { Transaction } from './connection/transaction.ts'
import { waitForLock } from './connection/wait-for-lock.ts'
import { counts } from './counts.ts'
import { create } from './create.ts'
import { figures } from './figures.ts'
import { EffectError, gate } from './gate.ts'
import { get } from './get.ts'
import { FileWatch } from './hints/file-watch.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { list, listRanges } from './list.ts'
import { listDue } from './list-due.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { checkSqliteOptions, type SqliteOptions } from './options.ts'
import { pause, readPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { settle } from './settle.ts'
import { tokens } from './tokens.ts'

/** How long a verb waits for other processes, and how long opening does. */
const busyMs = 30_000
const openBusyMs = 5_000

export class SqliteStore implements Store {
  readonly name = 'sqlite'
  readonly abilities: ReadonlySet<Ability>
  readonly batchLimit = 1000
  readonly reopen?: Reopen
  readonly #path: string
  readonly #options: Required<SqliteOptions>
  readonly hints = new FileWatch(() => this.#connection)
  /** The environments that have opened the store: it closes with the last of them. */
  readonly #users = new Set<StoreEnv>()
  #env: StoreEnv | null = null
  #connection: Connection | null = null

  constructor(path: string, options: SqliteOptions) {
    this.#options = checkSqliteOptions(path, options)
    this.#path = path
    if (path !== ':memory:' && !this.#options.exclusive)
      this.reopen = {
        module: new URL(`index${extname(import.meta.url)}`, import.meta.url).href,
        factory: 'sqlite',
        given: [path, options],
      }
    this.abilities = new Set<Ability>(
      path === ':memory:' ? ['tx'] : this.#options.exclusive ? ['tx', 'durable'] : ['tx', 'join', 'durable', 'many-processes'],
    )
  }

  async open(env: StoreEnv) {
    await this.#attempt(env, openBusyMs, () => this.#connect())
    this.#env = env
    this.#users.add(env)
    this.hints.start(env.clock)
  }

  async close() {
    const [user] = this.#users
    if (user) this.#users.delete(user)
    if (this.#users.size > 0) return
    this.#env = null
    this.hints.stop()
    await this.#disconnect()
  }

  readonly putJob = this.#writes(putJob)
  readonly readJobs = this.#reads(readJobs)
  readonly readVersions = this.#reads(readVersions)
  readonly pause = this.#writes(pause)
  readonly readPauses = this.#reads(readPauses)
  readonly jobsToPlan = this.#reads(jobsToPlan)
  readonly plan = this.#writes(plan)
  async create(rows: readonly NewOccurrence[], options?: CreateOptions) {
    if (options?.tx !== undefined) return this.#join(options.tx, (tx) => create(tx, rows))
    return this.#write((tx) => create(tx, rows, options))
  }
  readonly peek = this.#reads(peek)
  readonly backlog = this.#reads(backlog)
  readonly claim = this.#writes(claim)
  async checkpoint(items: readonly CheckpointItem[]) {
    const { answers, thrown } = await this.#write((tx) => checkpoint(tx, items))
    if (thrown.length > 0) throw thrown[0]
    return answers
  }
  readonly settle = this.#writes(settle)
  async cancel(request: CancelRequest, callers?: unknown) {
    if (callers !== undefined) return this.#join(callers, (tx) => cancel(tx, request))
    return this.#write((tx) => cancel(tx, request))
  }
  readonly move = this.#writes(move)
  async gate<Request extends GateRequest>(request: Request) {
    const act = (tx: Transaction) => gate(tx, request)
    const answer = await (request.act === 'list' ? this.#read(act) : this.#write(act))
    if (answer instanceof EffectError) throw answer.thrown
    return answer as GateAnswerTo<Request>
  }
  async listAudit<Query extends AuditQuery>(query: Query) {
    return (await this.#read((tx) => listAudit(tx, query))) as AuditAnswerTo<Query>
  }
  readonly beat = this.#writes(beat)
  readonly rescue = this.#writes(rescue)
  readonly prune = this.#writes(prune)
  readonly get = this.#reads(get)
  readonly list = this.#reads(list)
  readonly listRanges = this.#reads(listRanges)
  readonly counts = this.#reads(counts)
  readonly listDue = this.#reads(listDue)
  async figures(request: FigureQuery | FigureAdd) {
    const act = (tx: Transaction) => figures(tx, request)
    return 'rows' in request ? this.#write(act) : this.#read(act)
  }
  readonly tokens = this.#writes(tokens)
  async nodes(request: NodesRequest = {}) {
    const act = (tx: Transaction) => nodes(tx, request)
    return request.drain ? this.#write(act) : this.#read(act)
  }

  /** Verbs by their functions on a transaction. */
  #writes<Given extends unknown[], Answer>(
    act: (tx: Transaction, ...given: Given) => Answer,
  ): (...given: Given) => Promise<Answer> {
    return (...given) => this.#write((tx) => act(tx, ...given))
  }

  #reads<Given extends unknown[], Answer>(
    act: (tx: Transaction, ...given: Given) => Answer,
  ): (...given: Given) => Promise<Answer> {
    return (...given) => this.#read((tx) => act(tx, ...given))
  }

  async #write<Answer>(act: (tx: Transaction) => Answer): Promise<Answer> {
    const env = this.#opened()
    const { answer, hints } = await this.#attempt(env, busyMs, () => this.#connected().write(act, now(env)))
    this.hints.send(hints)
    return answer
  }

  #join<Answer>(callers: unknown, act: (tx: Transaction) => Answer): Answer {
    const env = this.#opened()
    return inCallersTransaction(callers, this.#connected(), now(env), act)
  }

  async #read<Answer>(act: (tx: Transaction) => Answer): Promise<Answer> {
    const env = this.#opened()
    return this.#attempt(env, busyMs, () => this.#connected().read(act, now(env)))
  }

  #opened(): StoreEnv {
    if (this.#env) return this.#env
    throw new PunctualError('store.closed', `The store ${this.#path} is not open; open it first`, { path: this.#path })
  }

  /** Tries until the lock is free. After a failure of the file the next call begins with a new connection. */
  async #attempt<Answer>(env: StoreEnv, deadlineMs: number, act: () => Answer): Promise<Answer> {
    try {
      return await waitForLock(env, deadlineMs, act)
    } catch (error) {
      const failure = storeFailure(error, this.#path)
      if (failure !== error || this.#connection?.db.isOpen === false) await this.#disconnect()
      throw failure
    }
  }

  /** The store may have been closed while a verb waited for the lock. */
  #connected(): Connection {
    this.#opened()
    return this.#connect()
  }

  #connect(): Connection {
    this.#connection ??= new Connection(this.#path, this.#options)
    return this.#connection
  }

  async #disconnect(): Promise<void> {
    // A database in memory is its connection: it ends only with the store.
    if (this.#path === ':memory:' && this.#env) return
    const connection = this.#connection
    this.#connection = null
    await connection?.close()
  }
}

function now({ clock }: StoreEnv): number {
  return Math.floor(clock.wall())
}
