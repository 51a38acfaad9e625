// The reference store: every verb in its plainest form, against which the others are compared.

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
  RescueRequest,
  SettleItem,
  Store,
  StoreEnv,
  Which,
} from '../store.ts'
import { beat, prune, rescue } from './care.ts'
import { claim, nextDue } from './claim.ts'
import { pause, putJob, readJobs, readPauses, readVersions } from './jobs.ts'
import { waiting } from './pick.ts'
import { create, jobsToPlan, plan } from './plan.ts'
import { counts, get, list, listRanges, nodes } from './read.ts'
import { cancel, checkpoint, move, settle } from './settle.ts'
import { MemoryState } from './state.ts'

export class MemoryStore implements Store {
  readonly name = 'memory'
  readonly abilities: ReadonlySet<Ability> = new Set()
  readonly batchLimit = 1000
  readonly #state = new MemoryState()

  async open({ clock }: StoreEnv) {
    this.#state.useClock(() => Math.floor(clock.wall()))
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
  async create(rows: readonly NewOccurrence[]) {
    return create(this.#state, rows)
  }
  async peek({ kinds }: { kinds: readonly string[] }) {
    return { now: this.#state.now, nextDue: nextDue(this.#state, kinds) }
  }
  async waiting(query: { kinds: readonly string[] }) {
    return waiting(this.#state, query)
  }
  async claim(request: ClaimRequest) {
    return claim(this.#state, request)
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    return checkpoint(this.#state, items)
  }
  async settle(items: readonly SettleItem[], done: readonly ClaimRef[]) {
    return settle(this.#state, items, done)
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
  async prune(request: { endedBefore: number; keyRetentionMs: number; limit: number }) {
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
  subscribe(listener: (hint: Hint) => void) {
    this.#state.listeners.add(listener)
    return () => this.#state.listeners.delete(listener)
  }
}
