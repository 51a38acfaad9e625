// Counts what this process does to the store: what a write has recorded is counted once, when the store has confirmed it.
import { PunctualError } from '../../errors.ts'
import { tasksOf } from '../../model/definition.ts'
import { versionAt } from '../../model/job.ts'
import type { AttemptState, TurnEnd } from '../../model/lifecycle.ts'
import type { RecoveryStrategy } from '../../model/recovery.ts'
import { cascade } from '../../model/settings.ts'
import type { StoreExchange, StoreVerb } from '../../store/observed.ts'
import type {
  CheckpointItem,
  ClaimAnswer,
  CreateAnswer,
  GateAnswer,
  GateRequest,
  JobPlan,
  NewOccurrence,
  PlanAnswer,
  PlanWork,
  RescueAnswer,
  SettleAnswer,
  SettleItem,
  WriteAnswer,
} from '../../store/store.ts'
import type { ClientEnv } from '../client-env.ts'
import { LabelNames } from './label-names.ts'
import type { MetricSink } from './metric.ts'

/** Sends the measurements of a scheduler to `sink` from now on. The returned function ends it. */
export function measure(env: ClientEnv, sink: MetricSink): () => void {
  const counting = new Counting(env, sink)
  const ends = [
    env.events.watch('signal.store', (call) => counting.call(call)),
    env.events.watch('occurrence.started', ({ job, turn, latenessMs }) => counting.start(job, turn, latenessMs)),
    env.events.watch('occurrence.canceled', ({ job }) => counting.end(job, 'canceled')),
  ]
  return () => {
    for (const end of ends) end()
  }
}

type Counted = 'completed' | 'failed' | 'dead' | 'canceled' | 'skipped' | 'missed'

/** Canceled ends are counted by their event: who cancels learns the id alone. */
const counted: readonly TurnEnd[] = ['completed', 'failed', 'dead']
const statuses: Readonly<Partial<Record<AttemptState, string>>> = {
  succeeded: 'success',
  failed: 'failure',
  timeout: 'timeout',
}
const strategies: Readonly<Record<RecoveryStrategy, string>> = {
  all: 'full_backfill',
  last: 'latest_only',
  'mark-missed': 'skip',
  bounded: 'bounded',
  compressed: 'compressed',
}

class Counting {
  readonly #env: ClientEnv
  readonly #sink: MetricSink
  readonly #names = new LabelNames()
  /** The planner's current work, whose plans follow. */
  #work: PlanWork | null = null

  constructor(env: ClientEnv, sink: MetricSink) {
    this.#env = env
    this.#sink = sink
  }

  call({ verb, durationMs, error, given: [first], answer }: StoreExchange): void {
    this.#sink.observe('scheduler_store_call_duration_seconds', [verb], durationMs)
    if (error === null) this.#answered(verb, first, answer)
    else this.#failed(verb, error)
  }

  start(job: string, turn: number, latenessMs: number): void {
    const labels = [this.#names.job(job)]
    if (turn === 1) this.#sink.observe('scheduler_job_lateness_seconds', labels, latenessMs)
    this.#sink.observe('scheduler_job_wait_seconds', labels, latenessMs)
  }

  end(job: string, status: Counted, by = 1): void {
    this.#sink.add('scheduler_job_occurrences_total', [this.#names.job(job), status], by)
  }

  #failed(verb: StoreVerb, error: unknown): void {
    const code = error instanceof PunctualError ? error.code : 'other'
    this.#sink.add('scheduler_store_errors_total', [verb, code])
    if (code === 'claim.lost') this.#sink.add('scheduler_refused_writes_total', [verb])
  }

  #answered(verb: StoreVerb, given: unknown, answer: unknown): void {
    if (verb === 'claim') this.#claimed(answer as ClaimAnswer)
    else if (verb === 'settle') this.#settled(given as readonly SettleItem[], answer as SettleAnswer)
    else if (verb === 'checkpoint') this.#checkpointed(given as readonly CheckpointItem[], answer as readonly WriteAnswer[])
    else if (verb === 'create') this.#created(given as readonly NewOccurrence[], answer as CreateAnswer)
    else if (verb === 'jobsToPlan') this.#toPlan(answer as PlanWork)
    else if (verb === 'plan') this.#planned(given as readonly JobPlan[], answer as readonly PlanAnswer[])
    else if (verb === 'rescue') this.#rescued(answer as RescueAnswer)
    else if (verb === 'gate' && (given as GateRequest).act === 'reserve')
      this.#sink.add('scheduler_gate_reservations_total', [(answer as GateAnswer).outcome])
  }

  #claimed({ members, passed }: ClaimAnswer): void {
    this.#sink.add('scheduler_claims_total', [members.length > 0 ? 'work' : 'empty'])
    if (members.length > 0) this.#sink.add('scheduler_claimed_total', [], members.length)
    for (const { job, state } of passed) this.end(job, state)
  }

  #settled(items: readonly SettleItem[], answer: SettleAnswer): void {
    items.forEach((item, at) => void this.#written('settle', item, answer.items[at]))
    if (answer.claimed) this.#claimed(answer.claimed)
  }

  #checkpointed(items: readonly CheckpointItem[], answers: readonly WriteAnswer[]): void {
    items.forEach((item, at) => void this.#written('checkpoint', item, answers[at]))
  }

  #written(verb: StoreVerb, item: CheckpointItem | SettleItem, answer: WriteAnswer | undefined): void {
    if (answer !== 'ok') return this.#sink.add('scheduler_refused_writes_total', [verb])
    const { job } = item.member.record
    for (const { task, state, startedAt, endedAt } of item.attempts) this.#attempt(job, task, state, endedAt - startedAt)
    if ('end' in item) this.#turn(item)
  }

  #turn({ member: { record }, end }: SettleItem): void {
    const { job, definition } = record
    if (counted.includes(end.end)) this.end(job, end.end as Counted)
    if (end.startedAt === null || end.end === 'released') return
    const ms = end.endedAt - end.startedAt
    this.#sink.observe('scheduler_job_execution_duration_seconds', [this.#names.job(job)], ms)
    if (end.attempt === null) return
    const known = this.#env.registry.definition(definition)
    this.#attempt(job, (known && tasksOf(known)[0]?.name) ?? 'run', end.attempt, ms)
  }

  #attempt(job: string, task: string, state: AttemptState, ms: number): void {
    const status = statuses[state]
    if (!status) return
    const labels = this.#names.task(job, task)
    this.#sink.add('scheduler_task_attempts_total', [...labels, status])
    this.#sink.observe('scheduler_task_execution_duration_seconds', labels, ms)
  }

  #created(rows: readonly NewOccurrence[], { rows: answers, claimed }: CreateAnswer): void {
    rows.forEach(({ source }, at) => {
      if (answers[at]?.outcome === 'created') this.#sink.add('scheduler_occurrences_created_total', [source])
    })
    if (claimed) this.#claimed(claimed)
  }

  #toPlan(work: PlanWork): void {
    this.#work = work
    const first = Math.min(...work.jobs.map(({ job }) => job.nextAt ?? work.now), work.now)
    this.#sink.set('scheduler_planner_lag_seconds', [], (work.now - first) / 1000)
  }

  #planned(plans: readonly JobPlan[], answers: readonly PlanAnswer[]): void {
    plans.forEach((plan, at) => {
      if (answers[at]?.outcome === 'planned') this.#plan(plan)
    })
  }

  #plan(plan: JobPlan): void {
    const { job, rows, ranges, drop, revive } = plan
    for (const { end, source } of rows) {
      this.#sink.add('scheduler_occurrences_created_total', [source])
      if (end) this.end(job, end.state)
    }
    for (const { state, count } of ranges) this.end(job, state, count)
    for (const { state } of drop) this.end(job, state)
    if (revive.length + drop.length + ranges.length > 0 || rows.some(({ source }) => source === 'recovery')) this.#recovery(plan)
  }

  #recovery({ tenant, job }: JobPlan): void {
    const found = this.#work?.jobs.find(({ job: one }) => one.name === job && one.tenant === tenant)
    if (!found || !this.#work) return
    const { spec } = versionAt(found.versions, this.#work.now)
    const { strategy } = cascade(this.#env.options.settings, spec.defaults, spec.settings).recovery
    this.#sink.add('scheduler_recovery_runs_total', [this.#names.job(job), strategies[strategy]])
  }

  #rescued({ rescued, expired }: RescueAnswer): void {
    for (const { job, outcome } of rescued) {
      this.#sink.add('scheduler_rescued_total', [outcome])
      if (outcome === 'failed' || outcome === 'dead') this.end(job, outcome)
    }
    for (const { job, state } of expired) this.end(job, state)
  }
}
