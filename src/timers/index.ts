export type {
  Broker,
  BrokerHealth,
  Channel,
  ConsumeOptions,
  Consumer,
  Delivery,
  DeliveryHandler,
  OutMessage,
  PublishFailure,
  PublishResult,
} from '../broker/broker.ts'
export {
  type TimersInstance,
  type TimersOverview,
  type TimersReport,
  type TimersSide,
  timersOverview,
} from '../client/timers-overview.ts'
export { createWebhooks, type HttpPayload, type WebhooksOptions } from '../outbound/http-job.ts'
export { createPublisher, type Publisher, type PublishPayload } from '../outbound/publish-job.ts'
export { verifySignature } from '../outbound/signature.ts'
export type { EnvelopeFormat } from './envelope.ts'
export type { TimersHealth } from './health-watch.ts'
export { createJobCommands, type JobCommandIntake, type JobCommandsOptions } from './job-commands.ts'
export type { Histogram, ScheduleOutcome, TimerMetrics } from './metrics.ts'
export { metricsText } from './metrics-text.ts'
export type { TimerView } from './timer-view.ts'
export { createTimers, type Timers, type TimersOptions } from './timers.ts'
