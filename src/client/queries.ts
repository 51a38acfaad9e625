import { type AnyDefinition, Definition, type ResultOf } from '../model/definition.ts'
import { checkOptions } from '../model/limits.ts'
import type { ExecutionReport } from '../model/report.ts'
import type { Page } from '../store/query.ts'
import type { NodeRecord } from '../store/store.ts'
import type { AuditVerification, VerifyAuditOptions } from './audit-verification.ts'
import { type AuditFilter, Audits, type AuditView } from './audits.ts'
import type { ClientEnv } from './client-env.ts'
import { type DeadLetterFilter, type DeadLetterGroup, type DeadLetterGroups, deadLetterGroups } from './dead-letters.ts'
import { Explainer, type ExplainTarget, type Explanation } from './explain.ts'
import { type GateFilter, Gates, type GateView } from './gates.ts'
import type { ResultOptions } from './handle.ts'
import { type Job, nameOf } from './job-name.ts'
import type { FieldChange, JobView, VersionView } from './job-view.ts'
import type { ListFilter } from './list-filter.ts'
import { type OccurrenceTarget, tenantOf } from './occurrence-target.ts'
import type { Occurrence, OccurrenceLine, OccurrenceOf } from './occurrence-view.ts'
import { Pauses, type PauseView } from './pauses.ts'
import { type Counts, type EffectiveSettings, type JobFilter, type JobStatus, type RangeView, Reads } from './reads.ts'
import { Recent } from './recent.ts'
import { Results } from './results.ts'

/** The calls of a scheduler that only read. */
export class Queries {
  readonly #env: ClientEnv
  readonly #reads: Reads
  readonly #results: Results
  readonly #explainer: Explainer
  readonly #pauses: Pauses
  readonly #gates: Gates
  readonly #audits: Audits
  readonly #recent: Recent

  constructor(env: ClientEnv) {
    this.#env = env
    this.#reads = new Reads(env)
    this.#results = new Results(env, this.#reads)
    this.#explainer = new Explainer(env)
    this.#pauses = new Pauses(env)
    this.#gates = new Gates(env)
    this.#audits = new Audits(env)
    this.#recent = new Recent(env.events)
  }

  /**
   * An occurrence with its history; null when there is none. With its job, payload and result have the job's types.
   * @example const found = await punctual.get(invoice, id)
   */
  async get<const J extends AnyDefinition>(job: J, id: string): Promise<OccurrenceOf<J> | null>
  async get<const J extends Job = string>(target: OccurrenceTarget<J>): Promise<OccurrenceOf<J> | null>
  async get(first: OccurrenceTarget | AnyDefinition, id?: string): Promise<Occurrence | null> {
    if (!(first instanceof Definition)) return this.#reads.get(first)
    const found = await this.#reads.get(id ?? (first as never))
    return found?.definition === first.name ? found : null
  }

  /**
   * The result of an occurrence, as the `result` of a handle: for an id or a key alone, also in another process.
   * @example const pdf = await punctual.result({ job: render, idempotencyKey: 'order-42' }, { timeout: '1m' })
   */
  async result<const J extends Job = string>(target: OccurrenceTarget<J>, options?: ResultOptions): Promise<ResultOf<J>> {
    return this.#results.of(target, options) as Promise<ResultOf<J>>
  }

  /** The newest first, a page at a time. */
  async list(filter?: ListFilter): Promise<Page<OccurrenceLine>> {
    return this.#reads.list(filter)
  }

  /**
   * Work that failed for good and waits for a person: the newest first, or grouped by its cause.
   * @example const [worst] = await punctual.deadLetters({ groupBy: 'cause' })
   */
  async deadLetters(options: DeadLetterGroups): Promise<readonly DeadLetterGroup[]>
  async deadLetters(filter?: DeadLetterFilter): Promise<Page<OccurrenceLine>>
  async deadLetters(
    options: DeadLetterFilter | DeadLetterGroups = {},
  ): Promise<readonly DeadLetterGroup[] | Page<OccurrenceLine>> {
    if ('groupBy' in options) return deadLetterGroups(this.#env, options)
    return this.#reads.list({ ...options, state: 'dead' })
  }

  /** The number of occurrences in each state: of all, of a tenant or of a job. `running` are those that nodes have claimed: see `depth`. */
  async counts(filter?: { tenant?: string; job?: Job }): Promise<Counts> {
    return this.#reads.counts(filter)
  }

  /** The status of a job: whether it is active, paused or running, and its next and last run. */
  async status(job: Job, options?: { tenant?: string }): Promise<JobStatus> {
    return this.#reads.status(job, options)
  }

  /** The settings that a run of the job, or one of its tasks, would be subject to now. */
  async settings(job: Job, task?: string, options?: { tenant?: string }): Promise<EffectiveSettings> {
    return this.#reads.settings(job, task, options)
  }

  /** Why a job or an occurrence has not run, or will not. */
  async explain(target: ExplainTarget): Promise<Explanation> {
    return this.#explainer.explain(target)
  }

  /** The jobs by name and tenant, those that never ran included, a page at a time. */
  async jobs(filter?: JobFilter): Promise<Page<JobView>> {
    return this.#reads.jobs(filter)
  }

  /** The versions of a job, oldest first. */
  async versions(job: Job, options?: { tenant?: string }): Promise<readonly VersionView[]> {
    return this.#reads.versions(job, options)
  }

  /** The differences between two versions of a job, field by field. */
  async diff(job: Job, from: number, to: number, options?: { tenant?: string }): Promise<readonly FieldChange[]> {
    return this.#reads.diff(job, from, to, options)
  }

  /** Ranges of passed-over instants without single records, the newest first. */
  async ranges(filter?: { tenant?: string; job?: Job; limit?: number }): Promise<readonly RangeView[]> {
    return this.#reads.ranges(filter)
  }

  /** The pauses in force, and with `all` those that are over, too. */
  async pauses(options?: { all?: boolean }): Promise<readonly PauseView[]> {
    return this.#pauses.pauses(options)
  }

  /** The keys of effects by tenant, scope and key, a page at a time: `{ state: 'unknown' }` for those that wait for a person. */
  async gates(filter?: GateFilter): Promise<Page<GateView>> {
    return this.#gates.list(filter)
  }

  /** Changes of jobs and occurrences with their authors, and the business events of `ctx.audit`, the newest first, a page at a time. */
  async audit(filter?: AuditFilter): Promise<Page<AuditView>> {
    return this.#audits.list(filter)
  }

  /** Checks every row of the audit against the digest that was kept of it, and names each that was changed, removed or inserted. */
  async verifyAudit(options?: VerifyAuditOptions): Promise<AuditVerification> {
    return this.#audits.verify(options)
  }

  /** The nodes that the store knows, with their heartbeats. */
  async nodes(): Promise<readonly NodeRecord[]> {
    return this.#reads.nodes()
  }

  /** The last 50 executions of a job that this process saw, from memory. */
  recent(job: Job, options: { tenant?: string } = {}): readonly ExecutionReport[] {
    checkOptions(options, ['tenant'], 'recent')
    return this.#recent.of(tenantOf(options), nameOf(job))
  }

  /** Lets go of those who wait for a result. */
  async close(): Promise<void> {
    this.#results.close()
  }
}
