import type { Histogram, TimerMetrics } from './metrics.ts'

/** The numbers of a timer service as Prometheus reads them. */
export function metricsText(metrics: TimerMetrics): string {
  const { schedulesProcessed, lastPollAt } = metrics
  const lines = [
    ...counter('timer_commands_received_total', 'Commands that arrived.', metrics.commandsReceived),
    '# HELP timer_schedules_processed_total Commands by what became of them.',
    '# TYPE timer_schedules_processed_total counter',
    ...Object.entries(schedulesProcessed).map(([outcome, n]) => `timer_schedules_processed_total{outcome="${outcome}"} ${n}`),
    ...counter(
      'timer_permanent_errors_total',
      'Commands that can never be carried out, and events the broker never takes.',
      metrics.poison + metrics.refused,
    ),
    ...counter('timer_commands_retried_total', 'Commands put back since the store did not answer.', metrics.commandsRetried),
    ...counter('timer_fired_total', 'Events that the broker has taken.', metrics.fired),
    ...counter('timer_duplicates_total', 'Events that the broker had already.', metrics.duplicates),
    ...histogram('timer_delay_seconds', 'From the command to the event.', metrics.delay),
    ...histogram('timer_lateness_seconds', 'From the due instant to the event.', metrics.lateness),
    ...histogram('timer_polling_duration_seconds', 'Looks for due timers.', metrics.polling),
    // A process that fires nothing has no looks to miss.
    ...(lastPollAt === null
      ? []
      : [
          '# HELP timer_last_poll_timestamp_seconds When the last look ended.',
          '# TYPE timer_last_poll_timestamp_seconds gauge',
          `timer_last_poll_timestamp_seconds ${lastPollAt.getTime() / 1000}`,
        ]),
  ]
  return `${lines.join('\n')}\n`
}

function counter(name: string, help: string, value: number): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} counter`, `${name} ${value}`]
}

function histogram(name: string, help: string, { buckets, sumMs, count }: Histogram): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...buckets.map(({ leMs, count: upTo }) => `${name}_bucket{le="${leMs / 1000}"} ${upTo}`),
    `${name}_bucket{le="+Inf"} ${count}`,
    `${name}_sum ${sumMs / 1000}`,
    `${name}_count ${count}`,
  ]
}
