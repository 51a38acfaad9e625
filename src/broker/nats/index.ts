export { nats } from './nats.ts'
export type { NatsOptions } from './options.ts'
