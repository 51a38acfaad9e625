import { createPunctual, defineJob, type Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkChannel } from '../../src/broker/check.ts'
import { gateId, jobId, keyedId } from '../../src/model/ids.ts'
import { limitsFor } from '../../src/model/limit.ts'
import { cascade } from '../../src/model/settings.ts'
import { answerOf, silent } from './asker.ts'

/** Characters that separate or match names in databases, brokers, addresses and JSON. */
const special = [...`:{}*.>#/|,;"'\\%_?&=+$@!~^()[]<>`, '..', '"]', '","']
const names = special.flatMap((one) => [`a${one}b`, `a${one}`, `${one}b`, one])
/** The same characters, cut at other places. */
const cuts = special.flatMap((one) => [
  [`a${one}b`, 'c'],
  ['a', `b${one}c`],
  [`a${one}`, `b${one}c`],
  [`a${one}b${one}`, 'c'],
]) as [string, string][]

const note = defineJob('note', () => 1)
let punctual: Punctual
beforeEach(() => {
  punctual = createPunctual({ store: memory(), jobs: [note], log: silent })
})
afterEach(() => punctual.close())

/** The API as a caller sees it who may see these tenants. */
function api(tenants: readonly string[] | null) {
  const authenticate = () => ({ name: 'ada', role: 'admin' as const, ...(tenants && { tenants }) })
  const handle = createHandler(punctual, { log: silent, authenticate })
  return async (path: string) => answerOf(await handle(new Request(`http://localhost/api/v1${path}`)))
}

describe('S24: special characters in names', () => {
  test('two names never become one id or one limit, wherever they are cut', () => {
    const distinct = new Set(cuts.map((cut) => JSON.stringify(cut))).size
    const settings = cascade({ concurrency: { limit: 1, key: null } })
    const makers: ((first: string, second: string) => string)[] = [
      jobId,
      (tenant, job) => keyedId(tenant, job, 'k'),
      (job, key) => keyedId('t', job, key),
      (scope, key) => gateId('t', scope, key),
      (tenant, job) => JSON.stringify(limitsFor({ tenant, job, source: 'deferred', settings })),
    ]
    for (const make of makers) expect(new Set(cuts.map(([first, second]) => make(first, second))).size).toBe(distinct)
  })

  test('a key, an entity and a tenant match only themselves', async () => {
    const read = api(null)
    const ids = new Map<string, string>()
    for (const name of new Set(names)) {
      const { id } = await punctual.enqueue(note, undefined, { key: name, entity: name, tenant: name, delay: '1h' })
      ids.set(name, id)
    }
    for (const [name, id] of ids) {
      for (const field of ['key', 'entity', 'tenant']) {
        const { status, body } = await read(`/occurrences?${new URLSearchParams({ [field]: name })}`)
        expect([field, name, status, body.items?.map((one: { id: string }) => one.id)]).toEqual([field, name, 200, [id]])
      }
    }
  })

  test('a caller of one tenant sees nothing of another, whatever both are called', async () => {
    await punctual.enqueue(note, undefined, { tenant: 'acme', delay: '1h' })
    await punctual.enqueue(note, undefined, { tenant: 'acme.eu', delay: '1h' })
    for (const tenant of ['*', '>', '#', 'acme.*', 'acme.>', '%', '_cme', 'acme%', 'ACME', 'acme,acme.eu']) {
      const { status, body } = await api([tenant])('/occurrences')
      expect([tenant, status, body.items]).toEqual([tenant, 200, []])
    }
  })

  test('the stream of a caller has no message of a tenant that its own name would match as a pattern', async () => {
    const authenticate = () => ({ name: 'ada', role: 'viewer' as const, tenants: ['acme.*'] })
    const handle = createHandler(punctual, { log: silent, authenticate })
    const stop = new AbortController()
    const response = await handle(new Request('http://localhost/api/v1/events', { signal: stop.signal }))
    const foreign = await punctual.enqueue(note, undefined, { tenant: 'acme.eu', delay: '1h' })
    const own = await punctual.enqueue(note, undefined, { tenant: 'acme.*', delay: '1h' })
    let text = ''
    for await (const part of response.body as ReadableStream<Uint8Array>) {
      text += new TextDecoder().decode(part)
      if (text.includes(own.id)) break
    }
    stop.abort()
    expect(text).not.toContain(foreign.id)
  })

  test('a channel of a broker has none of the characters that a broker reads', () => {
    for (const name of names.filter((one) => !/^[\w.-]+$/.test(one) || /^\.|\.\.|\.$/.test(one)))
      expect(() => checkChannel({ name, kind: 'topic' }), name).toThrow(/letters, digits/)
    for (const name of ['orders', 'orders.paid', 'a_b-c.d']) checkChannel({ name, kind: 'queue' })
  })
})
