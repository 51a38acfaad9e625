import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { errorRecord, withoutStack } from '../../src/model/error-record.ts'
import { limits } from '../../src/model/limits.ts'

const circular: Record<string, unknown> = Object.create(null)
circular.self = circular

const revoked = Proxy.revocable({}, {})
revoked.revoke()

describe('the record of anything thrown', () => {
  it('has the message, the name unless it is Error, the code and the stack', () => {
    const error = Object.assign(new TypeError('no'), { code: 'E_NO' })
    expect(errorRecord(error)).toEqual({ message: 'no', name: 'TypeError', code: 'E_NO', stack: error.stack })
    expect(errorRecord(new Error('no'))).not.toHaveProperty('name')
  })

  it.each([
    ['an Error without a message', Object.assign(new Error('x'), { message: undefined }), { message: '' }],
    ['a stack that is no text', Object.assign(new Error('x'), { stack: 5 }), { message: 'x' }],
    ['a symbol as name', Object.assign(new Error('x'), { name: Symbol('odd') }), { message: 'x', name: 'Symbol(odd)' }],
    ['a message that is an object', Object.assign(new Error(), { message: { a: 1 } }), { message: '{"a":1}' }],
    ['a circular object without a prototype', circular, { message: expect.stringContaining('self') }],
    [
      'an object whose toString throws',
      {
        toString() {
          throw new Error('no text')
        },
        n: 1n,
      },
      { message: expect.stringContaining('1n') },
    ],
    [
      'a function whose toString throws',
      Object.assign(() => {}, {
        toString() {
          throw new Error('no text')
        },
      }),
      { message: expect.any(String) },
    ],
    ['a proxy that was revoked', revoked.proxy, { message: expect.any(String) }],
    ['a symbol', Symbol('s'), { message: 'Symbol(s)' }],
    ['a bigint', 5n, { message: '5' }],
    ['undefined', undefined, { message: 'undefined' }],
    ['null', null, { message: 'null' }],
  ])('is made of %s', (_, thrown, record) => {
    expect(errorRecord(thrown)).toMatchObject(record)
    expect(JSON.parse(JSON.stringify(errorRecord(thrown)))).toEqual(errorRecord(thrown))
  })

  it('is made of an error whose properties throw', () => {
    const error = new Error('x')
    for (const key of ['message', 'name', 'code', 'stack', 'cause', 'errors'])
      Object.defineProperty(error, key, {
        get() {
          throw new Error('no access')
        },
      })
    expect(errorRecord(error)).toEqual({ message: '' })
  })

  it('recognises errors of another realm', () => {
    const foreign: Error = runInNewContext("new RangeError('far away')")
    expect(foreign instanceof Error).toBe(false)
    expect(errorRecord(foreign)).toMatchObject({ message: 'far away', name: 'RangeError', stack: expect.any(String) })
  })

  it('keeps causes and the errors of an AggregateError', () => {
    const error = new AggregateError([new TypeError('one'), 'two'], 'all failed', { cause: new Error('the net', { cause: 5 }) })
    expect(withoutStack(errorRecord(error))).toEqual({
      message: 'all failed',
      name: 'AggregateError',
      cause: { message: 'the net', cause: { message: '5' } },
      errors: [{ message: 'one', name: 'TypeError' }, { message: 'two' }],
    })
  })

  it('is bounded, however many causes and errors there are', () => {
    const error = new Error('x'.repeat(10_000))
    error.cause = error
    const many = new AggregateError(Array.from({ length: 1000 }, () => error))
    expect(errorRecord(error).message).toHaveLength(limits.errorText)
    expect(JSON.stringify(errorRecord(error)).length).toBeLessThan(64 * 1024)
    expect(JSON.stringify(errorRecord(many)).length).toBeLessThan(64 * 1024)
  })
})
