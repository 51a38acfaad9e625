export type { RabbitmqOptions } from './options.ts'
export { rabbitmq } from './rabbitmq.ts'
