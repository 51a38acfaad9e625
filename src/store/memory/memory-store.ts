// The reference store: every verb in its plainest form, against which the others are compared.

import type { Ability } from '../abilities.ts'
import { beat, prune, rescue } from '../ledger/care.ts'
import { claim, nextDue } from '../ledger/claim.ts'
import { pause, putJob, readJobs, readPauses, readVersions } from '../ledger/jobs.ts'
import { Ledger } from '../ledger/ledger.ts'
import { waiting } from '../ledger/pick.ts'
import { create, jobsToPlan, plan } from '../ledger/plan.ts'
import { cancel, checkpoint, move, settle } from '../ledger/settle.ts'
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
  RescueRequest,
  SettleItem,
  Store,
  StoreEnv,
  Which,
} from '../store.ts'
import { counts, get, list, listRanges, nodes } from './read.ts'

export class MemoryStore implements Store {
  readonly name = 'memory'
  readonly isHearing = true
  readonly abilities: ReadonlySet<Ability> = new Set()
  readonly batchLimit = 1000
  readonly #ledger = new Ledger({ now: () => this.#now(), newRef: () => ++this.#lastRef })
  #lastRef = 0
  #now: () => number = () => 0

  async open({ clock }: StoreEnv) {
    this.#now = () => Math.floor(clock.wall())
  }
  async close() {}

  async putJob(put: JobPut) {
    return putJob(this.#ledger, put)
  }
  async readJobs(query: JobQuery) {
    return readJobs(this.#ledger, query)
  }
  async readVersions(query: { tenant: string; name: string }) {
    return readVersions(this.#ledger, query)
  }
  async pause(request: PauseRequest) {
    return pause(this.#ledger, request)
  }
  async readPauses(query: { since?: number }) {
    return readPauses(this.#ledger, query)
  }
  async jobsToPlan(query: { horizonMs: number; limit: number }) {
    return jobsToPlan(this.#ledger, query)
  }
  async plan(plans: readonly JobPlan[]) {
    return plan(this.#ledger, plans)
  }
  async create(rows: readonly NewOccurrence[]) {
    return create(this.#ledger, rows)
  }
  async peek({ kinds }: { kinds: readonly string[] }) {
    return { now: this.#ledger.now, nextDue: nextDue(this.#ledger, kinds) }
  }
  async waiting(query: { kinds: readonly string[] }) {
    return waiting(this.#ledger, query)
  }
  async claim(request: ClaimRequest) {
    return claim(this.#ledger, request)
  }
  async checkpoint(items: readonly CheckpointItem[]) {
    return checkpoint(this.#ledger, items)
  }
  async settle(items: readonly SettleItem[], done: readonly ClaimRef[]) {
    return settle(this.#ledger, items, done)
  }
  async cancel(request: CancelRequest) {
    return cancel(this.#ledger, request)
  }
  async move(request: MoveRequest) {
    return move(this.#ledger, request)
  }
  async beat(one: Beat) {
    return beat(this.#ledger, one)
  }
  async rescue(request: RescueRequest) {
    return rescue(this.#ledger, request)
  }
  async prune(request: PruneRequest) {
    return prune(this.#ledger, request)
  }
  async get(which: Which) {
    return get(this.#ledger, which)
  }
  async list(filter: OccurrenceFilter) {
    return list(this.#ledger, filter)
  }
  async listRanges(query: { tenant?: string; job?: string; limit: number }) {
    return listRanges(this.#ledger, query)
  }
  async counts(query: { tenant?: string; job?: string }) {
    return counts(this.#ledger, query)
  }
  async nodes() {
    return nodes(this.#ledger)
  }
  async wake() {
    this.#ledger.hint({ kind: 'due', at: this.#ledger.now })
  }
  subscribe(listener: (hint: Hint) => void) {
    this.#ledger.listeners.add(listener)
    return () => this.#ledger.listeners.delete(listener)
  }
}
