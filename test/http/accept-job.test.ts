import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { acceptJob } from '../../src/http/accept-job.ts'
import { createPunctual, defineJob } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'

const double = defineJob('double', { payload: z.object({ n: z.number() }), retry: { max: 0 } }, ({ payload }) => {
  if (payload.n < 0) throw Object.assign(new Error('too small'), { code: 'SMALL' })
  return payload.n * 2
})
const other = defineJob('other', () => 'secret')
const url = 'https://shop.example/doubles'

function endpoint(options = {}) {
  const punctual = createPunctual({ store: memory(), jobs: [double, other] })
  punctual.on('occurrence.failed', () => {})
  onTestFinished(() => punctual.close())
  const accept = acceptJob(punctual, double, options)
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    accept(new Request(url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), headers }))
  const look = (response: Response) => accept(new Request(new URL(response.headers.get('location') as string, url)))
  return { punctual, accept, post, look }
}

describe('JS-10 acceptJob', () => {
  it('answers 202 with an address, which shows the state and then the result', async () => {
    const { punctual, post, look } = endpoint({ retryAfter: 3 })
    const accepted = await post({ n: 21 })
    expect(accepted.status).toBe(202)
    const { id } = (await accepted.json()) as { id: string }
    expect(accepted.headers.get('location')).toBe(`/doubles/${id}`)
    const waiting = await look(accepted)
    expect([waiting.status, waiting.headers.get('retry-after')]).toEqual([200, '3'])
    expect(await waiting.json()).toMatchObject({ id, state: 'pending' })
    await punctual.runDue()
    const done = await look(accepted)
    expect([done.status, done.headers.get('retry-after')]).toEqual([200, null])
    expect(await done.json()).toEqual({ id, state: 'completed', result: 42 })
  })

  it('shows a failure as problem+json, without its stack', async () => {
    const { punctual, post, look } = endpoint()
    const accepted = await post({ n: -1 })
    await punctual.runDue()
    const failed = await look(accepted)
    expect([failed.status, failed.headers.get('content-type')]).toEqual([500, 'application/problem+json'])
    const problem = (await failed.json()) as Record<string, unknown>
    expect(problem).toMatchObject({ title: 'The work is dead', status: 500, detail: 'too small', code: 'SMALL' })
    expect(problem).not.toHaveProperty('stack')
  })

  it('repeats nothing under one Idempotency-Key', async () => {
    const { post } = endpoint()
    const places = [await post({ n: 1 }, { 'idempotency-key': 'a' }), await post({ n: 1 }, { 'idempotency-key': 'a' })]
    expect(places[0]?.headers.get('location')).toBe(places[1]?.headers.get('location'))
  })

  it('refuses bad input with a problem that names it, and creates nothing', async () => {
    const { punctual, accept, post } = endpoint({ maxBytes: 100 })
    const refused = async (response: Promise<Response>) => {
      const { status } = await response
      return [status, ((await (await response).json()) as { code?: string }).code]
    }
    expect(await refused(post('{'))).toEqual([400, 'payload.invalid'])
    expect(await refused(post({ n: 'one' }))).toEqual([400, 'payload.rejected'])
    expect(await refused(post(' '.repeat(101)))).toEqual([413, 'payload.too-large'])
    expect(await refused(post({ n: 1 }, { 'idempotency-key': 'x'.repeat(300) }))).toEqual([400, 'key.invalid'])
    expect((await accept(new Request(url, { method: 'PUT' }))).status).toBe(405)
    expect((await punctual.list()).items).toEqual([])
  })

  it('knows no work of other jobs and other tenants', async () => {
    const { punctual, accept } = endpoint({ tenant: (request: Request) => request.headers.get('tenant') ?? 'default' })
    const { id } = await punctual.enqueue(other)
    const foreign = await punctual.enqueue(double, { n: 1 }, { tenant: 'acme' })
    const status = async (of: string, headers = {}) => (await accept(new Request(`${url}/${of}`, { headers }))).status
    expect(await Promise.all([status(id), status('nothing'), status(foreign.id), status('..'), status('%zz')])).toEqual([
      404, 404, 404, 404, 404,
    ])
    expect(await status(foreign.id, { tenant: 'acme' })).toBe(200)
  })

  it('examples/async-endpoint serves a real client', async () => {
    const child = spawn(process.execPath, ['examples/async-endpoint/server.ts'], { env: { ...process.env, PORT: '0' } })
    onTestFinished(() => void child.kill('SIGKILL'))
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
    const send = (month: string) => fetch(line, { method: 'POST', body: JSON.stringify({ month }) })
    const settled = async (response: Response) => {
      const address = new URL(response.headers.get('location') as string, line)
      for (;;) {
        const found = await fetch(address)
        if (found.headers.get('retry-after') === null) return found
        await found.text()
      }
    }
    expect(await (await settled(await send('2026-03'))).json()).toMatchObject({ result: { month: '2026-03', orders: 42 } })
    expect((await settled(await send('2027-01'))).status).toBe(500)
    expect((await send('March')).status).toBe(400)
  })
})

function once(emitter: NodeJS.EventEmitter, event: string): Promise<unknown[]> {
  return new Promise((resolve) => emitter.once(event, (...given) => resolve(given)))
}
