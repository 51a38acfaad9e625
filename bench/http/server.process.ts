// A server on SQLite in a separate process, which runs the work that is sent to it. Its parent reads figures by messages.
import process from 'node:process'
import { listen } from '../../src/cli/http-server.ts'
import { createHandler } from '../../src/http/index.ts'
import { createPunctual, defineJob } from '../../src/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'

export interface ServerFigures {
  /** Milliseconds from the due time of each run to its start, since the last question. */
  readonly waits: readonly number[]
  /** Milliseconds that each claim took. */
  readonly claims: readonly number[]
  readonly cpuMs: number
}

const [path = '', mode] = process.argv.slice(2)
const waits: number[] = []
const claims: number[] = []
const mail = defineJob<{ order: number }>('mail', {}).task('send', ({ startedAt, scheduledAt }) => {
  waits.push(startedAt.getTime() - scheduledAt.getTime())
})
const store = sqlite(path)
const claim = store.claim.bind(store)
store.claim = async (request) => {
  const since = performance.now()
  const answer = await claim(request)
  if (answer.members.length > 0) claims.push(performance.now() - since)
  return answer
}
const punctual = createPunctual({ store, jobs: [mail] })
if (mode === 'work') await punctual.start()
const authenticate = (request: Request) => ({ name: request.headers.get('x-name') ?? 'bench', role: 'admin' as const })
const server = await listen(createHandler(punctual, { authenticate, limits: { requestsPerSecond: 1_000_000 } }), {
  host: '127.0.0.1',
  port: 0,
})
process.send?.({ url: server.url })

process.on('disconnect', () => process.exit(1))
let before = process.cpuUsage()
let ticker: NodeJS.Timeout | undefined
process.on('message', async (message: { readonly rate?: number; readonly isEnd?: boolean }) => {
  if (message.isEnd) {
    await server.close()
    await punctual.close()
    process.exit()
  }
  if (message.rate !== undefined) {
    clearInterval(ticker)
    const each = message.rate / 100
    if (each > 0) ticker = setInterval(() => void enqueue(each), 10)
  }
  const { user, system } = process.cpuUsage(before)
  before = process.cpuUsage()
  process.send?.({ waits: waits.splice(0), claims: claims.splice(0), cpuMs: (user + system) / 1000 } satisfies ServerFigures)
})

/** For a little later: work that is due at once is claimed by the commit that creates it. */
async function enqueue(count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, order) => punctual.enqueue(mail, { order }, { delay: '300ms' })))
}
