import { Agent, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { percentile } from '../harness/statistics.ts'
import { BenchServer } from './server.ts'

export interface EnqueueFigures {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
  /** CPU time of the server for each. */
  readonly cpuMicros: number
}

const callers = 50
const warmUpMs = 1000
const spanMs = 4000
const rounds = 3

/** Submissions over HTTP from callers that each wait for the answer before they send the next; the best of several rounds. */
export async function timeEnqueues(): Promise<EnqueueFigures> {
  const server = await BenchServer.start('store')
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const found: EnqueueFigures[] = []
  for (let round = 0; round < rounds; round++) found.push(await oneRound(server, agent))
  agent.destroy()
  await server.close()
  return found.reduce((best, one) => (one.perSecond > best.perSecond ? one : best))
}

async function oneRound(server: BenchServer, agent: Agent): Promise<EnqueueFigures> {
  let took: number[] = []
  let isOver = false
  const call = async () => {
    while (!isOver) {
      const since = performance.now()
      await submit(`${server.url}api/v1/jobs/mail/occurrences`, agent)
      took.push(performance.now() - since)
    }
  }
  const all = Array.from({ length: callers }, call)
  await wait(warmUpMs)
  took = []
  await server.figures()
  const since = performance.now()
  await wait(spanMs)
  const counted = took.slice()
  const seconds = (performance.now() - since) / 1000
  const { cpuMs } = await server.figures()
  isOver = true
  await Promise.all(all)
  return {
    perSecond: counted.length / seconds,
    p50: percentile(counted, 50),
    p99: percentile(counted, 99),
    cpuMicros: (cpuMs * 1000) / counted.length,
  }
}

const body = JSON.stringify({
  payload: { order: 4711, note: 'a payload of about a hundred bytes, as most of them are, or a few more' },
})

function submit(url: string, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    })
    sent.on('error', reject)
    sent.on('response', (response) => {
      response.resume()
      response.on('end', () => (response.statusCode === 202 ? resolve() : reject(new Error(`status ${response.statusCode}`))))
    })
    sent.end(body)
  })
}
