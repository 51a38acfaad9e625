import { get, type IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { median, percentile } from '../harness/statistics.ts'
import { BenchServer } from './server.ts'

export interface ListenerFigures {
  readonly claimMs: readonly [alone: number, listened: number]
  readonly waitMs: readonly [alone: number, listened: number]
  readonly cpuMs: readonly [alone: number, listened: number]
  readonly received: number
}

const listeners = 200
const changesPerSecond = 500
const spanMs = 4000
const rounds = 3

/** Claims of a node that enqueues and runs, alternately without listeners and with them; medians over the rounds. */
export async function timeListeners(): Promise<ListenerFigures> {
  const server = await BenchServer.start('work')
  const found: { claim: number; wait: number; cpu: number }[][] = [[], []]
  let received = 0
  // A change is two: the occurrence is created and it completes.
  await server.figures(changesPerSecond / 2)
  await wait(spanMs)
  for (let round = 0; round < rounds * 2; round++) {
    const streams = round % 2 === 0 ? [] : await Promise.all(Array.from({ length: listeners }, (_, n) => listen(server.url, n)))
    await wait(1000)
    await server.figures()
    await wait(spanMs)
    const { waits, claims, cpuMs } = await server.figures()
    found[round % 2]?.push({ claim: median(claims), wait: percentile(waits, 50), cpu: cpuMs / (spanMs / 1000) })
    for (const stream of streams) {
      received += stream.messages
      stream.response.destroy()
    }
  }
  await server.figures(0)
  await server.close()
  const both = (of: 'claim' | 'wait' | 'cpu') => found.map((some) => median(some.map((one) => one[of]))) as [number, number]
  return { claimMs: both('claim'), waitMs: both('wait'), cpuMs: both('cpu'), received }
}

async function listen(url: string, n: number): Promise<{ messages: number; readonly response: IncomingMessage }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}api/v1/events`, { headers: { 'x-name': `page-${Math.floor(n / 40)}` } }, resolve).on('error', reject)
  })
  if (response.statusCode !== 200) throw new Error(`A stream was answered with ${response.statusCode}`)
  const stream = { messages: 0, response }
  response.on('data', (chunk: Buffer) => {
    if (chunk.includes('event: change')) stream.messages += 1
  })
  response.on('error', () => {})
  return stream
}
