import { Validator } from '@seriousme/openapi-schema-validator'
import type { Punctual } from 'punctual'
import { createHandler } from 'punctual/http'
import { createRemote } from 'punctual/http-client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { operation, operationNames } from '../../src/client/operation.ts'
import { read } from '../docs/page.ts'
import { asker, newPunctual, silent } from './asker.ts'

let punctual: Punctual
beforeEach(() => {
  punctual = newPunctual()
})
afterEach(() => punctual.close())
const ask = asker(() => punctual)

describe('the OpenAPI file', () => {
  test('is valid by a public validator', async () => {
    const { body } = await ask('/api/openapi.json', { basePath: '' })
    const result = await new Validator().validate(body)
    expect(result.errors).toBeUndefined()
    expect(result.valid).toBe(true)
    expect(body.openapi).toBe('3.1.0')
  })

  test('S41: has every operation of the table, and no other', async () => {
    const { body } = await ask('/api/openapi.json')
    const listed = Object.entries(body.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => `${method.toUpperCase()} ${path} ${operationId}`),
    )
    const known = operationNames.map((name) => `${operation(name).method} ${operation(name).path} ${name}`)
    expect(listed.sort()).toEqual([...known, 'GET /events events'].sort())
  })

  test('S38: no operation reports the end of a run: only the node that holds the claim can', async () => {
    expect(operationNames.filter((name) => /claim|settle|complete|checkpoint|beat|lease/.test(name))).toEqual([])
    const { body } = await ask('/api/openapi.json')
    const methods = Object.values(body.paths as Record<string, Record<string, { requestBody?: unknown }>>)
    const taken = methods.flatMap((path) => Object.values(path)).map(({ requestBody }) => requestBody)
    expect(JSON.stringify(taken)).not.toMatch(/"(claim|fence|turn|attempts|endedAt|outcome)":\{/)
  })

  test('S40: no operation takes code', async () => {
    const { body } = await ask('/api/openapi.json')
    const methods = Object.values(body.paths as Record<string, Record<string, { requestBody?: unknown; parameters?: unknown }>>)
    const taken = methods.flatMap((path) => Object.values(path)).map(({ requestBody, parameters }) => [requestBody, parameters])
    expect(JSON.stringify(taken)).not.toMatch(/"(code|script|command|shell|eval|handler)":\{/)
  })

  test('its operations are those of the docs', () => {
    const rows = [...read('docs/reference/http.md').matchAll(/^\| `([a-z.]+)` \| `([A-Z]+) (\S+)` \| (\w+) \|/gm)].map((row) =>
      row.slice(1).join(' '),
    )
    expect(rows).toEqual(
      operationNames.map((name) => [name, operation(name).method, operation(name).path, operation(name).role].join(' ')),
    )
  })
})

describe('createRemote', () => {
  const remote = () => {
    const handle = createHandler(punctual, { open: true, log: silent, basePath: '/jobs' })
    return createRemote('http://localhost/jobs/', { fetch: handle })
  }

  test('submits, reads, lists and cancels, by the same names as at home', async () => {
    const far = remote()
    const { id, outcome } = await far.enqueue('echo', { text: 'hi' }, { idempotencyKey: 'k', delay: '1h' })
    expect(outcome).toBe('created')
    expect(await far.get(id)).toMatchObject({ id, state: 'pending', payload: { text: 'hi' } })
    expect((await far.list({ state: ['pending', 'running'] })).items).toHaveLength(1)
    expect(await far.cancel(id, { reason: 'paid' })).toBe('canceled')
    await far.trigger('echo', { payload: { text: 'now' } })
    await punctual.runDue()
    expect((await far.job('echo')).recent.map(({ state }) => state)).toContain('completed')
    expect(await far.pause('later')).toBe('paused')
    expect(await far.resume('later')).toBe('resumed')
    const seen = []
    for await (const line of far.all()) seen.push(line.state)
    expect(seen.sort()).toEqual(['canceled', 'completed'])
    expect((await far.call('overview.get')).counts.completed).toBe(1)
  })

  test('a refusal is thrown as the error it is', async () => {
    expect(await remote().get('nothing')).toBeNull()
    await expect(remote().job('nothing')).rejects.toMatchObject({ code: 'job.unknown', details: { status: 404 } })
    await expect(remote().list({ limit: 1e9 })).rejects.toMatchObject({
      code: 'option.invalid',
      details: { httpCode: 'request.invalid' },
    })
  })
})
