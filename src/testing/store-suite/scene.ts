import assert from 'node:assert/strict'
import { PunctualError } from '../../errors.ts'
import { keyedId, scheduledId, uuidV7 } from '../../model/ids.ts'
import type { JobRecord, JobSpec } from '../../model/job.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { AttemptRecord, OccurrenceHistory, TurnRecord } from '../../model/occurrence.ts'
import type { Ability } from '../../store/abilities.ts'
import type {
  Beat,
  BeatAnswer,
  ClaimAnswer,
  ClaimMember,
  ClaimRef,
  ClaimRequest,
  CreatedRow,
  JobPlan,
  JobPut,
  MemberWrite,
  NewOccurrence,
  NodeInfo,
  PauseAnswer,
  PauseRequest,
  PlannedOccurrence,
  RescueAnswer,
  RescueRequest,
  SettleItem,
  Store,
  StoreEnv,
  WriteAnswer,
} from '../../store/store.ts'
import { type ManualClock, manualClock } from '../manual-clock.ts'
import { seededRandom } from './seeded-random.ts'

export interface SceneOptions {
  readonly open: (env: StoreEnv, place: string) => Promise<Store>
  readonly lacks: Readonly<Partial<Record<Ability, string>>>
  readonly place: string
}

/** Members that a node has claimed. */
export interface Holding {
  readonly claim: ClaimRef
  readonly node: string
  readonly answer: ClaimAnswer
  readonly members: readonly ClaimMember[]
}

export const minute = 60_000
export const hour = 60 * minute
export const day = 24 * hour

/** An empty store at a standing clock, and short ways to say what a case needs. */
export class Scene {
  readonly clock: ManualClock
  readonly store: Store
  readonly lacks: SceneOptions['lacks']
  readonly #options: SceneOptions
  readonly #random = seededRandom(7)
  readonly #others: Store[] = []
  #claims = 0
  #pauseRevision = 0

  static async open(options: SceneOptions): Promise<Scene> {
    const clock = manualClock()
    return new Scene(options, clock, await options.open({ clock, random: seededRandom(1) }, options.place))
  }

  constructor(options: SceneOptions, clock: ManualClock, store: Store) {
    this.#options = options
    this.lacks = options.lacks
    this.clock = clock
    this.store = store
  }

  async close(): Promise<void> {
    for (const store of [this.store, ...this.#others]) await store.close()
  }

  /** Another handle of the same data. */
  async another(): Promise<Store> {
    const store = await this.#options.open({ clock: this.clock, random: seededRandom(2) }, this.#options.place)
    this.#others.push(store)
    return store
  }

  get now(): number {
    return this.clock.wall()
  }

  // ── jobs and plans ──

  spec(over: Partial<JobSpec> = {}): JobSpec {
    return {
      definition: 'report',
      schedule: { kind: 'cron', text: '* * * * *' },
      payload: null,
      settings: {},
      defaults: {},
      tasks: [{ name: 'run' }],
      isEnabled: true,
      isRetired: false,
      ...over,
    }
  }

  async putJob(over: Partial<JobSpec> = {}, { tenant = 'default', name = 'report' } = {}): Promise<JobRecord> {
    const { job } = await this.store.putJob(this.jobPut(this.spec(over), { tenant, name }))
    assert.ok(job)
    return job
  }

  /** A put of what code declares, in force at once. */
  jobPut(spec: JobSpec, over: Partial<JobPut> = {}): JobPut {
    return { tenant: 'default', name: 'report', spec, declared: spec, override: null, effectiveAt: null, by: null, ...over }
  }

  async job(name = 'report', tenant = 'default'): Promise<JobRecord> {
    const [job] = await this.store.readJobs({ tenant, name, limit: 1 })
    assert.ok(job, `job ${name} is known`)
    return job
  }

  /** A plan of the instants `ats` for the job as it is now. */
  planOf(job: JobRecord, ats: readonly number[], over: Partial<JobPlan> = {}): JobPlan {
    const through = Math.max(job.cursor, ...ats)
    return {
      tenant: job.tenant,
      job: job.name,
      version: job.version,
      cursor: job.cursor,
      pauseRevision: this.#pauseRevision,
      through,
      nextAt: through + minute,
      tz: '',
      rows: ats.map((at) => this.planRow(job, at)),
      ranges: [],
      revive: [],
      drop: [],
      ...over,
    }
  }

  planRow({ tenant, name, version }: JobRecord, at: number, over: Partial<PlannedOccurrence> = {}): PlannedOccurrence {
    const id = scheduledId(tenant, name, at)
    const none = { limits: null, span: null, startWithinMs: null, end: null }
    return { ...none, id, at, dueAt: at, version, source: 'schedule', priority: 5, ...over }
  }

  async plan(ats: readonly number[], over: Partial<JobPlan> = {}): Promise<readonly string[]> {
    const plan = this.planOf(await this.job(over.job, over.tenant), ats, over)
    const [answer] = await this.store.plan([plan])
    assert.deepEqual(answer, { outcome: 'planned', created: plan.rows.length })
    return plan.rows.map((row) => row.id)
  }

  /** Pauses by an open end, unless told; `open: null` resumes. */
  async pause(over: Partial<PauseRequest> = {}): Promise<PauseAnswer> {
    const answer = await this.store.pause({
      tenant: 'default',
      job: 'report',
      open: { until: null, reason: null, by: null },
      ...over,
    })
    this.#pauseRevision = (await this.store.jobsToPlan({ horizonMs: 0, limit: 1 })).pauseRevision
    return answer
  }

  // ── creating ──

  row(over: Partial<NewOccurrence> = {}): NewOccurrence {
    const { tenant = 'default', job = 'mail', key = null, unique = 'ever' } = over
    const id = key !== null && unique === 'ever' ? keyedId(tenant, job, key) : this.newId()
    return {
      id,
      tenant,
      job,
      definition: job,
      source: 'deferred',
      key,
      unique,
      entity: null,
      parent: null,
      refs: {},
      payload: '{"to":"ada"}',
      settings: null,
      priority: 5,
      limits: null,
      replay: null,
      startWithinMs: null,
      isHooked: false,
      scheduledAt: null,
      version: null,
      due: { in: 0 },
      onConflict: 'keep',
      ...over,
    }
  }

  newId(): string {
    return uuidV7(this.now, (bytes) => Uint8Array.from({ length: bytes }, () => this.#random() * 256))
  }

  /** A store may refuse a call that waits for another for too long: it has written nothing, and is called again, as the client does. */
  async createAll(rows: readonly NewOccurrence[]): Promise<readonly CreatedRow[]> {
    for (;;) {
      try {
        return (await this.store.create(rows)).rows
      } catch (error) {
        if (!(error instanceof PunctualError && error.details.isHeld === true)) throw error
      }
    }
  }

  async createOne(over: Partial<NewOccurrence> = {}): Promise<CreatedRow> {
    const [answer] = await this.createAll([this.row(over)])
    assert.ok(answer)
    return answer
  }

  /** Creates one occurrence, which must be new, and returns its id. */
  async create(over: Partial<NewOccurrence> = {}): Promise<string> {
    const { id, outcome } = await this.createOne(over)
    assert.equal(outcome, 'created')
    return id
  }

  // ── running ──

  node(over: Partial<NodeInfo> = {}): NodeInfo {
    return nodeInfo({ name: 'host', concurrency: 10, kinds: ['mail', 'report'], ...over })
  }

  /** A beat of a node that knows of no claims, unless told. */
  beat(over: Partial<Omit<Beat, 'node'>> & { boot?: string; node?: Partial<NodeInfo> } = {}): Promise<BeatAnswer> {
    const { boot = 'node-1', node, ...rest } = over
    return this.store.beat({ claims: [], inFlight: [], long: [], phase: 'stay', ...rest, node: this.node({ boot, ...node }) })
  }

  async join(boot = 'node-1', node: Partial<NodeInfo> = {}): Promise<BeatAnswer> {
    return this.beat({ boot, node, phase: 'join' })
  }

  claimRequest(over: Partial<ClaimRequest> = {}): ClaimRequest {
    const n = ++this.#claims
    return { id: `claim-${n}`, token: `token-${n}`, node: 'node-1', kinds: ['mail', 'report'], limit: 100, ...over }
  }

  /** Claims all that is due, unless told, for a node that has joined before. */
  async claim(over: Partial<ClaimRequest> = {}): Promise<Holding> {
    const request = this.claimRequest(over)
    const answer = await this.store.claim(request)
    return { claim: { id: request.id, token: request.token }, node: request.node, answer, members: answer.members }
  }

  async claimedIds(over: Partial<ClaimRequest> = {}): Promise<readonly string[]> {
    return (await this.claim(over)).members.map((member) => member.record.id)
  }

  /** One new occurrence that node-1 has just begun to run. */
  async running(over: Partial<NewOccurrence> = {}): Promise<Holding & { readonly id: string }> {
    if (!(await this.store.nodes()).nodes.some(({ boot }) => boot === 'node-1')) await this.join()
    const id = await this.create(over)
    const holding = await this.claim()
    assert.deepEqual(idsOf(holding), [id])
    return { ...holding, id }
  }

  async settle(holding: Holding, end: TurnEnd, over: Partial<SettleItem> & { i?: number; done?: boolean } = {}): Promise<string> {
    const { i = 0, done = true, ...rest } = over
    const [answer] = await this.settleAll([{ ...this.settleItem(holding, end, i), ...rest }], done ? [holding.claim] : [])
    return answer as string
  }

  async settleAll(items: readonly SettleItem[], done: readonly ClaimRef[] = []): Promise<readonly WriteAnswer[]> {
    return (await this.store.settle(items, { done })).items
  }

  settleItem(holding: Holding, end: TurnEnd, i = 0): SettleItem {
    return { ...memberRef(holding, i), end: this.end(end), attempts: [], delayMs: 0 }
  }

  end(end: TurnEnd, over: Partial<SettleItem['end']> = {}): SettleItem['end'] {
    const none = { result: null, error: null, attempt: null, settings: null, tasks: null, reason: null }
    return { ...none, end, startedAt: this.now, endedAt: this.now, ...over }
  }

  /** The end row that a store writes by itself when it knows only the manner and the time. */
  bareTurn(turn: number, end: TurnEnd, over: Partial<TurnRecord> = {}): TurnRecord {
    return { ...this.end(end), turn, node: null, startedAt: null, ...over }
  }

  attempt(over: Partial<AttemptRecord> = {}): AttemptRecord {
    return {
      turn: 1,
      task: 'run',
      n: 1,
      state: 'failed',
      startedAt: this.now,
      endedAt: this.now,
      result: null,
      error: { message: 'no route' },
      retryAt: null,
      ...over,
    }
  }

  /** Makes node-1's work dead. */
  async dead(over: Partial<NewOccurrence> = {}): Promise<string> {
    const holding = await this.running(over)
    assert.equal(await this.settle(holding, 'dead', { end: this.end('dead', { error: { message: 'out of retries' } }) }), 'ok')
    return holding.id
  }

  async completed(over: Partial<NewOccurrence> = {}): Promise<string> {
    const holding = await this.running(over)
    assert.equal(await this.settle(holding, 'completed'), 'ok')
    return holding.id
  }

  // ── care ──

  /** Rescues the node, which must have stood still for its ttl. */
  async rescue(over: Partial<RescueRequest> & { boot?: string } = {}): Promise<RescueAnswer> {
    const { boot = 'node-1', ...rest } = over
    const { nodes, isRescueDue } = await this.store.nodes()
    const gone = nodes.filter((node) => node.boot === boot).map(({ beats }) => ({ boot, beats }))
    const request = {
      gone,
      settings: { retry: { intervalMs: 1000 } },
      mostRecoveries: 2,
      limit: 100,
      kinds: [],
      hookMs: minute,
      ...rest,
    }
    const answer = await this.store.rescue(request)
    // Nodes call rescue only when a node is gone, or when the store returned that a rescue is due.
    const isNeeded = request.gone.length === 0 && answer.rescued.length + answer.expired.length > 0
    if (isNeeded) assert.ok(isRescueDue, 'a rescue that found something was said to be due')
    return answer
  }

  /** Passes the ttl without a beat of node-1, while node-2 stays, and rescues. */
  async loseNode(over: Partial<RescueRequest> = {}): Promise<RescueAnswer> {
    await this.beat({ boot: 'node-2', phase: 'join' })
    await this.clock.advance(15_000)
    await this.beat({ boot: 'node-2' })
    return this.rescue(over)
  }

  // ── reading ──

  async get(id: string): Promise<OccurrenceHistory> {
    const history = await this.store.get({ id })
    assert.ok(history, `occurrence ${id} is known`)
    return history
  }

  async state(id: string): Promise<string> {
    return (await this.get(id)).state
  }
}

export function idsOf(holding: Holding): readonly string[] {
  return holding.members.map((member) => member.record.id)
}

export function memberOf(holding: Holding, i = 0): ClaimMember {
  const member = holding.members[i]
  assert.ok(member, `the claim has a member ${i}`)
  return member
}

export function memberRef(holding: Holding, i = 0): MemberWrite {
  return { claim: holding.claim, member: memberOf(holding, i) }
}

/** A member that no claim has returned. */
export function forged(holding: Holding, over: Partial<ClaimMember>, i = 0): MemberWrite {
  return { claim: holding.claim, member: { ...memberOf(holding, i), ...over } }
}

/** A node that runs nothing else than a test. */
export function nodeInfo(over: Partial<NodeInfo> = {}): NodeInfo {
  return {
    boot: 'node-1',
    name: 'node-1',
    pid: 1,
    concurrency: 4,
    kinds: [],
    version: '1.0.0',
    tz: '2026a',
    ttlMs: 15_000,
    release: null,
    declares: {},
    picks: false,
    isDraining: false,
    parts: {},
    ...over,
  }
}
