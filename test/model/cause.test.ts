import { describe, expect, it } from 'vitest'
import { causeOf, messagePattern } from '../../src/model/cause.ts'
import { errorRecord } from '../../src/model/error-record.ts'

describe('the cause of a failure', () => {
  it('is the same whatever ids, numbers, addresses and quoted texts the message names', () => {
    expect(messagePattern('Order 42 of "Ann" (cus_9fA81b) at ann@example.com  refused after 1.5 s')).toBe(
      'Order # of … (#) at … refused after #.# s',
    )
    const cause = causeOf({ message: "no row '4711' in order-42", name: 'DbError', code: 'P2025' })
    expect(causeOf({ message: "no row '4712' in order-7", name: 'DbError', code: 'P2025' })).toBe(cause)
    expect(cause).toMatch(/^[0-9a-f]{16}$/)
  })

  it('differs by name, by code and by words', () => {
    const causes = [
      causeOf(null),
      causeOf({ message: 'timeout' }),
      causeOf({ message: 'refused' }),
      causeOf({ message: 'refused', code: 'ECONNREFUSED' }),
      causeOf({ message: 'refused', code: 'ECONNREFUSED', name: 'FetchError' }),
    ]
    expect(new Set(causes).size).toBe(causes.length)
  })

  it('keeps an apostrophe inside a word', () => {
    expect(messagePattern("can't read Ann's cart")).toBe("can't read Ann's cart")
  })

  it('differs by the function of your code that threw, and not by its line or release folder', () => {
    const stack = (place: string) =>
      `Error: no\n    at checkServer (node:net:1:2)\n    at Pool.query (/app/node_modules/pg/pool.js:3:4)\n    at ${place}`
    const of = (place: string) => causeOf({ message: 'no', stack: stack(place) })
    expect(of('async charge (file:///srv/releases/17/billing.ts:10:5)')).toBe(
      of('charge (file:///srv/releases/18/billing.ts:12:9)'),
    )
    expect(of('file:///srv/billing.ts:10:5')).not.toBe(of('charge (file:///srv/billing.ts:10:5)'))
    expect(of('charge (C:\\app\\billing.ts:10:5)')).toBe(of('charge (/app/billing.ts:1:1)'))
  })

  it('bears any message and any stack', () => {
    expect(causeOf({ message: '', stack: '' })).toMatch(/^[0-9a-f]{16}$/)
    const long = errorRecord(new Error(`${'a1 "'.repeat(100_000)}`))
    expect(causeOf(long)).toMatch(/^[0-9a-f]{16}$/)
  })
})
