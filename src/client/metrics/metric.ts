/** One metric: its kind, meaning and labels. */
export interface Metric {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
}

const counter = (help: string, ...labels: string[]) => ({ kind: 'counter', help, labels }) as const
const gauge = (help: string, ...labels: string[]) => ({ kind: 'gauge', help, labels }) as const
const histogram = (help: string, ...labels: string[]) => ({ kind: 'histogram', help, labels }) as const

/** All metrics of a node, by name. docs/reference/metrics.md is tested against this table. */
export const metrics = {
  scheduler_jobs_running_total: gauge('Occurrences that run, on all nodes.'),
  scheduler_jobs_in_queue_total: gauge('Occurrences that are due and wait: for a slot (up to 1,000 of a job), a key or a pause.'),
  scheduler_jobs_paused_total: gauge('Jobs that a pause covers.'),
  scheduler_job_execution_duration_seconds: histogram('From the start of a turn to its end.', 'job'),
  scheduler_task_execution_duration_seconds: histogram('From the start of an attempt to its end.', 'job', 'task'),
  scheduler_task_attempts_total: counter('Ended attempts.', 'job', 'task', 'status'),
  scheduler_job_occurrences_total: counter('Ended occurrences.', 'job', 'status'),
  scheduler_recovery_runs_total: counter('Gaps that a recovery strategy has decided about.', 'job', 'strategy'),
  scheduler_job_lateness_seconds: histogram('From the due instant to the first start.', 'job'),
  scheduler_job_wait_seconds: histogram('From the due instant to the start, of every turn.', 'job'),
  scheduler_occurrences: gauge('Occurrences that have not ended, by state, on all nodes.', 'state'),
  scheduler_oldest_due_age_seconds: gauge('How long the oldest due occurrence has waited for a claim.'),
  scheduler_occurrences_created_total: counter('Occurrences that this process created or planned.', 'source'),
  scheduler_claims_total: counter('Claims, by whether they returned work.', 'outcome'),
  scheduler_claimed_total: counter('Claimed occurrences.'),
  scheduler_refused_writes_total: counter('Writes that the store refused since the work was no longer this node’s.', 'verb'),
  scheduler_rescued_total: counter('Turns of gone nodes and overrun turns that this node ended.', 'outcome'),
  scheduler_planner_lag_seconds: gauge('How far the most urgent unplanned instant lay in the past.'),
  scheduler_store_call_duration_seconds: histogram('Calls to the store.', 'verb'),
  scheduler_store_errors_total: counter('Failed calls to the store.', 'verb', 'code'),
  scheduler_gate_reservations_total: counter('Reservations of keys of effects; done is a hit.', 'outcome'),
  scheduler_nodes: gauge('Nodes that the store knows.'),
  scheduler_node_healthy: gauge('1 while this node is healthy, else 0.'),
  scheduler_clock_skew_seconds: gauge('The store’s clock minus this machine’s.'),
  scheduler_event_loop_delay_seconds: gauge('Delay of the event loop since the last scrape.', 'percentile'),
} as const satisfies Readonly<Record<string, Metric>>

export type MetricName = keyof typeof metrics
type NameOf<Kind extends Metric['kind']> = {
  [Name in MetricName]: (typeof metrics)[Name]['kind'] extends Kind ? Name : never
}[MetricName]
export type GaugeName = NameOf<'gauge'>

/** Takes measurements. Label values are in the order of the table. */
export interface MetricSink {
  add(name: NameOf<'counter'>, labels: readonly string[], by?: number): void
  /** A duration. */
  observe(name: NameOf<'histogram'>, labels: readonly string[], ms: number): void
  set(name: GaugeName, labels: readonly string[], value: number): void
}

/** The bounds of all histograms, in seconds. */
export const boundsSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 3600] as const
