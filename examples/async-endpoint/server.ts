// A report takes a while: the endpoint accepts it at once, and the client looks for the result.
// Run it with: node examples/async-endpoint/server.ts, then
//   curl -i -X POST localhost:3000/reports -H 'content-type: application/json' -d '{"month": "2026-03"}'
//   curl -i localhost:3000/reports/<id>
import { serve } from '@hono/node-server'
import { createPunctual, defineJob } from 'punctual'
import { acceptJob } from 'punctual/http'
import { sqlite } from 'punctual/sqlite'
import { z } from 'zod'

const report = defineJob(
  'report',
  { payload: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/) }), retry: { max: 0 } },
  async ({ payload, progress }) => {
    progress('counting')
    if (payload.month > '2026-12') throw new Error(`${payload.month} is not over yet`)
    return { month: payload.month, orders: 42 }
  },
)

const punctual = createPunctual({ store: sqlite(process.env.DATABASE ?? ':memory:'), jobs: [report] })
punctual.on('occurrence.failed', () => {}) // The client gets the error.
await punctual.start()

const accept = acceptJob(punctual, report)
const server = serve({ fetch: accept, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}/reports`),
)

process.once('SIGTERM', async () => {
  server.close()
  await punctual.close()
})
