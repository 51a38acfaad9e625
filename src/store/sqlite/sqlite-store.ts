import { extname } from 'node:path'
import { PunctualError } from '../../errors.ts'
import type { Ability } from '../abilities.ts'
import type { OccurrenceFilter } from '../query.ts'
import type {
  Beat,
  CancelRequest,
  CheckpointItem,
  ClaimRequest,
  CreateOptions,
  JobPlan,
  JobPut,
  JobQuery,
  MoveRequest,
  NewOccurrence,
  PauseRequest,
  PruneRequest,
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
import { Connection } from './connection/connection.ts'
import { storeFailure } from './connection/failure.ts'
import type { Transaction } from './connection/transaction.ts'
import { waitForLock } from './connection/wait-for-lock.ts'
import { counts } from './counts.ts'
import { create } from './create.ts'
import { get } from './get.ts'
import { Watch } from './hints/watch.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { list, listRanges } from './list.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { checkSqliteOptions, type SqliteOptions } from './options.ts'
import { pause, readPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { settle } from './settle.ts'

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
  readonly hints = new Watch(() => this.#connection)
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
      path === ':memory:' ? ['tx'] : this.#options.exclusive ? ['tx', 'durable'] : ['tx', 'durable', 'many-processes'],
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

  async putJob(put: JobPut) {
    return this.#write((tx) => putJob(tx, put))
  }
  async readJobs(query: JobQuery) {
    return this.#read((tx) => readJobs(tx, query))
  }
  async readVersions(query: { tenant: string; name: string }) {
    return this.#read((tx) => readVersions(tx, query))
  }
  async pause(request: PauseRequest) {
    return this.#write((tx) => pause(tx, request))
  }
  async readPauses(query: { since?: number }) {
    return this.#read((tx) => readPauses(tx, query))
  }
  async jobsToPlan(query: { horizonMs: number; limit: number }) {
    return this.#read((tx) => jobsToPlan(tx, query))
  }
  async plan(plans: readonly JobPlan[]) {
    return this.#write((tx) => plan(tx, plans))
  }
  async create(rows: readonly NewOccurrence[], options?: CreateOptions) {
    return this.#write((tx) => create(tx, rows, options))
  }
  async peek(query: { kinds: readonly string[] }) {
    return this.#read((tx) => peek(tx, query))
  }
  async backlog(query: { kinds: readonly string[] }) {
    return this.#read((tx) => backlog(tx, query))
  }
  async claim(request: ClaimRequest) {
    return this.#write((tx) => claim(tx, request))
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    const { answers, thrown } = await this.#write((tx) => checkpoint(tx, items))
    if (thrown.length > 0) throw thrown[0]
    return answers
  }
  async settle(items: readonly SettleItem[], options?: SettleOptions) {
    return this.#write((tx) => settle(tx, items, options))
  }
  async cancel(request: CancelRequest) {
    return this.#write((tx) => cancel(tx, request))
  }
  async move(request: MoveRequest) {
    return this.#write((tx) => move(tx, request))
  }
  async beat(one: Beat) {
    return this.#write((tx) => beat(tx, one))
  }
  async rescue(request: RescueRequest) {
    return this.#write((tx) => rescue(tx, request))
  }
  async prune(request: PruneRequest) {
    return this.#write((tx) => prune(tx, request))
  }
  async get(which: Which) {
    return this.#read((tx) => get(tx, which))
  }
  async list(filter: OccurrenceFilter) {
    return this.#read((tx) => list(tx, filter))
  }
  async listRanges(query: { tenant?: string; job?: string; limit: number }) {
    return this.#read((tx) => listRanges(tx, query))
  }
  async counts(query: { tenant?: string; job?: string }) {
    return this.#read((tx) => counts(tx, query))
  }
  async nodes() {
    return this.#read((tx) => nodes(tx))
  }

  async #write<Answer>(act: (tx: Transaction) => Answer): Promise<Answer> {
    const env = this.#opened()
    const { answer, hints } = await this.#attempt(env, busyMs, () => this.#connected().write(act, now(env)))
    this.hints.send(hints)
    return answer
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
