// A timer service in a separate process, as `punctual timers` runs it. On request it sends its CPU time and its counts.

import { nats } from '../../src/broker/nats/index.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { createTimers, type TimerMetrics } from '../../src/timers/index.ts'
import { cpuMicros } from '../harness/moment.ts'
import { openStore } from './open-store.ts'

export interface ServiceNumbers {
  readonly cpuMicros: number
  readonly rssBytes: number
  readonly metrics: TimerMetrics
}

const [storeUrl, brokerUrl] = process.argv.slice(2) as [string, string]
const broker = nats(brokerUrl)
const punctual = createPunctual({ store: openStore(storeUrl), concurrency: 500 })
const timers = createTimers({ punctual, broker })
process.on('disconnect', () => process.exit(1))
process.on('message', async (word: 'start' | 'numbers' | 'stop') => {
  if (word === 'start') timers.start()
  else if (word === 'stop') {
    await timers.stop()
    await punctual.close()
    await broker.close()
    process.exit(0)
  }
  process.send?.({
    cpuMicros: cpuMicros(),
    rssBytes: process.memoryUsage.rss(),
    metrics: timers.metrics,
  } satisfies ServiceNumbers)
})
await punctual.start()
process.send?.('ready')
