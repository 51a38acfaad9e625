import fc from 'fast-check'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { limits } from '../../src/model/limits.ts'
import { decodePayload, encodePayload, encodeResult, type PayloadSchema, validatePayload } from '../../src/model/payload.ts'

class Point {
  x = 1
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : [nested(levels - 1)]
}

const refused = (value: unknown, code = 'payload.invalid') =>
  expect(() => encodePayload(value)).toThrow(expect.objectContaining({ code }))

describe('payloads', () => {
  it('come back as they were given', () => {
    const json = fc
      .jsonValue()
      .filter(
        (value) =>
          !JSON.stringify(value).includes('__proto__') &&
          !JSON.stringify(value).includes('\\u0000') &&
          !/-0(?![.\d])/.test(JSON.stringify(value)),
      )
    fc.assert(
      fc.property(json, (value) => {
        expect(decodePayload(encodePayload(value))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('may be missing, which is not null', () => {
    expect([encodePayload(undefined), decodePayload(null)]).toEqual([null, undefined])
    expect([encodePayload(null), decodePayload('null')]).toEqual(['null', null])
    expect(encodeResult(undefined)).toBeNull()
  })

  it('may hold objects without a prototype', () => {
    expect(encodePayload(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}')
  })

  it.each([
    ['a Date', { at: new Date(0) }, /payload\.at is not plain JSON: it holds an instance of Date/],
    ['an instance of a class', [new Point()], /payload\[0\].*instance of Point/],
    ['a Map', new Map(), /instance of Map/],
    ['undefined', { a: { b: undefined } }, /payload\.a\.b.*undefined/],
    ['a hole', { list: Object.assign([], { 0: 1, 2: 3 }) }, /payload\.list\[1\].*undefined/],
    ['a function', { f: () => 1 }, /a function/],
    ['a symbol', Symbol('s'), /a symbol/],
    ['a bigint', { n: 5n }, /a bigint/],
    ['NaN', { n: Number.NaN }, /NaN is not a JSON number/],
    ['Infinity', [Number.POSITIVE_INFINITY], /Infinity is not a JSON number/],
    ['a NUL character', { t: 'a\u0000b' }, /NUL/],
    ['a NUL character in a name', { 'a\u0000b': 1 }, /NUL/],
    ['half of a surrogate pair', '\ud800', /surrogate/],
    ['half of a surrogate pair in a name', { '\udc00': 1 }, /surrogate/],
  ])('must not hold %s', (_, value, message) => {
    refused(value)
    expect(() => encodePayload(value)).toThrow(message as RegExp)
  })

  it('that cannot be read are refused', () => {
    refused(revoked())
    const throwing = {
      get card() {
        return fail(new Error('locked'))
      },
    }
    expect(() => encodePayload(throwing)).toThrow('payload is not plain JSON: it cannot be read: locked')
  })

  it('must not hold keys that reach a prototype', () => {
    refused(JSON.parse('{"__proto__":{"admin":true}}'))
    refused(JSON.parse('{"a":[{"__proto__":1}]}'))
    refused(JSON.parse('{"constructor":{"prototype":{"admin":true}}}'))
    expect(encodePayload({ constructor: 'Acme Building Ltd' })).toBe('{"constructor":"Acme Building Ltd"}')
  })

  it('may be nested 32 deep and no deeper', () => {
    expect(encodePayload(nested(limits.jsonDepth))).toContain('1')
    refused(nested(limits.jsonDepth + 1))
  })

  it('that hold themselves are refused', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    refused(circle)
  })

  it('may have 256 kB of JSON and no more, counted in bytes', () => {
    const most = limits.payloadBytes - 2
    expect(encodePayload('x'.repeat(most))).toHaveLength(limits.payloadBytes)
    refused('x'.repeat(most + 1), 'payload.too-large')
    refused('ä'.repeat(most / 2 + 1), 'payload.too-large')
  })

  it('name the field they were given as', () => {
    expect(() => encodePayload(5n, 'rows[3].payload')).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ field: 'rows[3].payload' }) }),
    )
    expect(() => encodePayload({ lines: [{}, { to: 5n }] })).toThrow(
      /^payload\.lines\[1\]\.to is not plain JSON: it holds a bigint/,
    )
    expect(() => encodePayload({ a: [JSON.parse('{"__proto__": 1}')] })).toThrow(
      /^payload\.a\[0\] must not have a property named/,
    )
  })
})

describe('results', () => {
  class Row {
    id = 7
    at = new Date(0)
    note = undefined
    get total(): number {
      return 1
    }
  }

  it.each([
    ['a Date', new Date(0)],
    ['undefined fields and holes', { a: undefined, list: Object.assign([], { 0: 1, 2: 3 }) }],
    ['a row of a driver', [new Row()]],
    ['an object with toJSON', { url: new URL('http://localhost/') }],
    ['numbers that JSON does not know', { n: Number.NaN, m: Number.POSITIVE_INFINITY }],
    ['a NUL character and half of a surrogate pair', 'a\u0000b\ud800'],
    ['many levels', nested(100)],
    ['functions', { f: () => 1 }],
  ])('with %s are written as JSON.stringify does', (_, value) => {
    expect(encodeResult(value)).toBe(JSON.stringify(value))
  })

  it('that JSON has no text for are none', () => {
    expect([encodeResult(undefined), encodeResult(() => 1), encodeResult(Symbol('s'))]).toEqual([null, null, null])
  })

  const circle: Record<string, unknown> = { deep: [] }
  ;(circle.deep as unknown[]).push(circle)
  const broken = {
    rows: [
      {
        get total() {
          throw new Error('no total')
        },
      },
    ],
  }

  it.each([
    ['a bigint', { rows: [{ id: 5n }] }, /^result\.rows\[0\]\.id cannot be written as JSON: it is a bigint/],
    ['a cycle', circle, /^result\.deep\[0\] cannot be written as JSON: it holds itself/],
    ['a getter that throws', broken, /^result\.rows\[0\]\.total cannot be written as JSON: no total/],
    ['a toJSON that throws', { a: { toJSON: () => JSON.parse('{') } }, /^result\.a cannot be written as JSON: /],
  ])('with %s are refused with the path', (_, value, message) => {
    expect(() => encodeResult(value)).toThrow(expect.objectContaining({ code: 'payload.invalid' }))
    expect(() => encodeResult(value)).toThrow(message as RegExp)
  })

  it('may have 256 kB of JSON and no more', () => {
    expect(() => encodeResult('x'.repeat(limits.resultBytes))).toThrow(expect.objectContaining({ code: 'payload.too-large' }))
  })
})

describe('JS-11 schemas of payloads', () => {
  const schemas = {
    zod: z.object({ to: z.string(), items: z.array(z.object({ n: z.coerce.number() })).default([]) }),
    valibot: v.object({
      to: v.string(),
      items: v.optional(v.array(v.object({ n: v.pipe(v.unknown(), v.transform(Number), v.number()) })), []),
    }),
  }

  it.each(Object.entries(schemas))('%s accepts, fills in and converts', async (_, schema) => {
    expect(await validatePayload(schema, { to: 'ada' }, 'mail')).toEqual({ to: 'ada', items: [] })
    expect(await validatePayload(schema, { to: 'ada', items: [{ n: '4' }] }, 'mail')).toEqual({ to: 'ada', items: [{ n: 4 }] })
  })

  it.each(Object.entries(schemas))('%s refuses with the path of each fault', async (_, schema) => {
    const refusal = validatePayload(schema, { to: 5, items: [{ n: 'x' }] }, 'mail')
    await expect(refusal).rejects.toMatchObject({ code: 'payload.rejected', details: { job: 'mail' } })
    const { details, message } = (await refusal.catch((error) => error)) as {
      details: { issues: { path: string[] }[] }
      message: string
    }
    expect(details.issues.map(({ path }) => path.join('.'))).toContain('to')
    expect(message).toMatch(/The payload of job "mail" was refused by its schema: payload\.to: /)
  })

  it('may be asynchronous', async () => {
    const known = z.string().refine(async (value) => value === 'ada')
    expect(await validatePayload(known, 'ada', 'mail')).toBe('ada')
    await expect(validatePayload(known, 'bob', 'mail')).rejects.toMatchObject({ code: 'payload.rejected' })
  })

  it('may answer with any object that has a then', async () => {
    // biome-ignore lint/suspicious/noThenProperty: that is what is tested
    const later = { then: (resolve: (answer: unknown) => void) => resolve({ issues: [{ message: 'too late' }] }) }
    await expect(
      validatePayload(
        answering(() => later),
        1,
        'mail',
      ),
    ).rejects.toThrow('payload: too late')
  })

  it.each([
    ['throws an error', () => fail(new Error('secret'))],
    ['throws a revoked proxy', () => fail(revoked())],
    ['rejects with a revoked proxy', async () => fail(revoked())],
    ['returns a revoked proxy', () => revoked()],
    ['returns nothing', () => undefined],
    ['returns a boolean', () => true],
    ['returns an empty object', () => ({})],
    ['returns issues that are none', async () => ({ issues: [null] })],
  ])('refuse the payload with a typed error when validate %s', async (_, validate) => {
    const refusal = await validatePayload(answering(validate), 1, 'mail').catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'payload.rejected', details: { field: 'payload', job: 'mail' } })
    expect((refusal as Error).message).toMatch(/^The schema of job "mail" failed on the payload/)
    expect((refusal as Error).message).not.toContain('secret')
  })
})

function fail(thrown: unknown): never {
  throw thrown
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function answering(validate: () => unknown): PayloadSchema {
  return { '~standard': { version: 1, vendor: 'test', validate: validate as never } }
}
