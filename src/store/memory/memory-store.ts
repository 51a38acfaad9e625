// The reference store: the rules on plain maps, each verb in its plainest form, against which the others are compared.
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
import { counts } from './counts.ts'
import { create } from './create.ts'
import { get } from './get.ts'
import { putJob, readJobs, readVersions } from './jobs.ts'
import { list, listRanges } from './list.ts'
import { move } from './move.ts'
import { nodes } from './nodes.ts'
import { pause, readPauses } from './pause.ts'
import { backlog, peek } from './peek.ts'
import { jobsToPlan, plan } from './plan.ts'
import { prune } from './prune.ts'
import { rescue } from './rescue.ts'
import { settle } from './settle.ts'
import { State } from './state.ts'

export class MemoryStore implements Store {
  readonly name = 'memory'
  readonly abilities: ReadonlySet<Ability> = new Set()
  readonly batchLimit = 1000
  readonly #state = new State(() => this.#now())
  #now: () => number = () => 0
  readonly hints: Hints = {
    isLive: true,
    subscribe: (listener: (hint: Hint) => void) => {
      this.#state.listeners.add(listener)
      return () => this.#state.listeners.delete(listener)
    },
    wake: async () => this.#state.hint({ kind: 'due', at: this.#state.now }),
  }

  async open({ clock }: StoreEnv) {
    this.#now = () => Math.floor(clock.wall())
  }
  async close() {}

  async putJob(put: JobPut) {
    return putJob(this.#state, put)
  }
  async readJobs(query: JobQuery) {
    return readJobs(this.#state, query)
  }
  async readVersions(query: { tenant: string; name: string }) {
    return readVersions(this.#state, query)
  }
  async pause(request: PauseRequest) {
    return pause(this.#state, request)
  }
  async readPauses(query: { since?: number }) {
    return readPauses(this.#state, query)
  }
  async jobsToPlan(query: { horizonMs: number; limit: number }) {
    return jobsToPlan(this.#state, query)
  }
  async plan(plans: readonly JobPlan[]) {
    return plan(this.#state, plans)
  }
  async create(rows: readonly NewOccurrence[], options?: CreateOptions) {
    return create(this.#state, rows, options)
  }
  async peek(query: { kinds: readonly string[] }) {
    return peek(this.#state, query)
  }
  async backlog(query: { kinds: readonly string[] }) {
    return backlog(this.#state, query)
  }
  async claim(request: ClaimRequest) {
    return claim(this.#state, request)
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    return checkpoint(this.#state, items)
  }
  async settle(items: readonly SettleItem[], options?: SettleOptions) {
    return settle(this.#state, items, options)
  }
  async cancel(request: CancelRequest) {
    return cancel(this.#state, request)
  }
  async move(request: MoveRequest) {
    return move(this.#state, request)
  }
  async beat(one: Beat) {
    return beat(this.#state, one)
  }
  async rescue(request: RescueRequest) {
    return rescue(this.#state, request)
  }
  async prune(request: PruneRequest) {
    return prune(this.#state, request)
  }
  async get(which: Which) {
    return get(this.#state, which)
  }
  async list(filter: OccurrenceFilter) {
    return list(this.#state, filter)
  }
  async listRanges(query: { tenant?: string; job?: string; limit: number }) {
    return listRanges(this.#state, query)
  }
  async counts(query: { tenant?: string; job?: string }) {
    return counts(this.#state, query)
  }
  async nodes() {
    return nodes(this.#state)
  }
}
