import { createPunctual, type Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { memory } from 'punctual/memory'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { echo, silent } from './asker.ts'

let punctual: Punctual
beforeEach(async () => {
  punctual = createPunctual({ store: memory(), jobs: [echo], log: silent })
  await punctual.start()
  await punctual.enqueue(echo, { text: 'a' }, { tenant: 'acme', delay: '10m' })
  await punctual.enqueue(echo, { text: 'b' }, { delay: '10m' })
})
afterEach(() => punctual.close())

const span = `from=${new Date(Date.now() - 3.6e6).toISOString()}&to=${new Date(Date.now() + 3.6e6).toISOString()}`
const read = async (path: string, tenants: readonly string[] | null = null) => {
  const handler = createHandler(punctual, { authenticate: () => ({ name: 'ada', role: 'operator', tenants }), log: silent })
  return (await (await handler(new Request(`http://localhost/api/v1/${path}`))).json()) as never as {
    lanes: { tenant: string; job: string; coming: unknown[]; pending: number }[]
    items: { tenant: string; name: string; pending: number; shared: boolean }[]
    pending: number
    code: string
  }
}

test('TM-14: a job without a schedule has one lane and one line with the work of all tenants', async () => {
  const { lanes } = await read(`timeline?${span}`)
  expect(lanes).toMatchObject([{ tenant: 'default', job: 'echo', pending: 2 }])
  expect(lanes[0]?.coming).toHaveLength(2)
  expect((await read('jobs')).items).toMatchObject([{ tenant: 'default', name: 'echo', pending: 2, shared: true }])
})

test('the view of one tenant has the jobs that it has work of, and only its work', async () => {
  expect((await read(`timeline?${span}&tenant=acme`)).lanes).toMatchObject([{ tenant: 'acme', job: 'echo', pending: 1 }])
  expect((await read('jobs?tenant=acme')).items).toMatchObject([{ tenant: 'acme', name: 'echo', pending: 1, shared: false }])
  expect((await read('jobs?tenant=globex')).items).toEqual([])
  expect((await read('jobs?tenant=default')).items).toMatchObject([{ tenant: 'default', pending: 1 }])
  expect(await read('jobs/echo?tenant=acme')).toMatchObject({ tenant: 'acme', pending: 1 })
  expect(await read('jobs/echo?tenant=globex')).toMatchObject({ code: 'job.unknown' })
})

test('a changed job is shown to a tenant that has only its work', async () => {
  await punctual.update('echo', { retry: { max: 7 } })
  expect((await read('jobs?tenant=acme')).items).toMatchObject([{ tenant: 'acme', name: 'echo', pending: 1 }])
  expect(await read('jobs/echo?tenant=acme')).toMatchObject({ tenant: 'acme', pending: 1 })
})

test('JS-11: a caller with named tenants sees no work of others', async () => {
  expect((await read(`timeline?${span}`, ['default'])).lanes).toMatchObject([{ tenant: 'default', pending: 1 }])
  expect(await read('jobs/echo?tenant=default', ['default'])).toMatchObject({ pending: 1, shared: false })
  expect((await read('jobs', ['acme'])).items).toMatchObject([{ tenant: 'acme', pending: 1 }])
})

test('tenants are listed by their jobs and their work', async () => {
  await punctual.enqueue(echo, { text: 'c' }, { tenant: 'initech' })
  expect((await read('tenants')).items.map(({ name }) => name)).toEqual(['acme', 'default', 'initech'])
})
