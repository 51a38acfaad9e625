import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { errorRecord } from '../../src/model/error-record.ts'
import { limits } from '../../src/model/limits.ts'
import { Redactor, redacted } from '../../src/model/redaction.ts'

describe('redact', () => {
  test('hides values by path, also in every element, and leaves the payload as it is', () => {
    const payload = {
      card: { number: '4111', holder: 'Ada' },
      items: [
        { iban: 'DE1', n: 1 },
        { iban: 'DE2', n: 2 },
      ],
      by: { ada: { pin: 1 }, bob: { pin: null } },
    }
    const before = structuredClone(payload)
    expect(redacted(payload, ['card.number', 'items.*.iban', 'by.*.pin', 'nothing.here', 'card.holder.deeper'])).toEqual({
      card: { number: '[redacted]', holder: 'Ada' },
      items: [
        { iban: '[redacted]', n: 1 },
        { iban: '[redacted]', n: 2 },
      ],
      by: { ada: { pin: '[redacted]' }, bob: { pin: null } },
    })
    expect(redacted(payload, ['card', 'items.1'])).toMatchObject({ card: '[redacted]', items: [{ iban: 'DE1' }, '[redacted]'] })
    expect(redacted('text', ['card'])).toBe('text')
    expect(payload).toEqual(before)
  })

  test.each([
    ['card'],
    [[]],
    [[1]],
    [['']],
    [['card.']],
    [['card..number']],
    [['$.card']],
    [['items[0].iban']],
    [['items.*x']],
    [[' card']],
    [['a'.repeat(201)]],
    [null],
    [{}],
  ])('refuses %j as paths and names the field', (redact) => {
    expect(() => defineJob('pay', { redact: redact as never })).toThrow(
      expect.objectContaining({
        code: 'option.invalid',
        details: expect.objectContaining({ field: expect.stringMatching(/^redact/) }),
      }),
    )
  })

  test('a text loses long values anywhere, short ones only as words, and special signs mean themselves', () => {
    const redactor = new Redactor(['a', 'b', 'c', 'd', 'e'], [{ a: '4111-1111', b: 123, c: 'x"y\\z(', d: true, e: '' }])
    expect(redactor.text('pan4111-1111x, cvc 123, order 91234, true')).toBe('pan[redacted]x, cvc [redacted], order 91234, true')
    expect(redactor.text(`raw x"y\\z( and ${JSON.stringify({ c: 'x"y\\z(' })}`)).toBe('raw [redacted] and {"c":"[redacted]"}')
  })

  test('fields of a log line are copied without the values: nested, in errors, in cycles', () => {
    const redactor = new Redactor(['card'], [{ card: { number: '4111111111111111', cvc: 123 } }])
    const cycle: Record<string, unknown> = { text: '4111111111111111' }
    cycle.self = cycle
    const at = new Date(0)
    const given = { cycle, cvc: 123, list: ['a 4111111111111111'], error: new Error('no 4111111111111111'), at, n: 7 }
    const copy = redactor.value(given) as Record<string, { message?: string }>
    expect(copy).toMatchObject({
      cycle: { text: '[redacted]', self: '[circular]' },
      cvc: '[redacted]',
      list: ['a [redacted]'],
      n: 7,
    })
    expect(copy.error?.message).toBe('no [redacted]')
    expect(JSON.stringify(copy)).not.toContain('4111')
    expect(cycle.text).toBe('4111111111111111')
  })

  test('a cut text ends with a mark, and no half of a value is left at the cut', () => {
    const secret = '4111111111111111'
    const redactor = new Redactor(['card'], [{ card: secret }])
    const error = Object.assign(new Error(`${'x'.repeat(limits.errorText - 15)}${secret} and more`), {
      cause: `${'y'.repeat(2000)}`,
    })
    const record = errorRecord(error, (text) => redactor.text(text))
    expect(record.message).toHaveLength(limits.errorText)
    expect(record.message.endsWith('… [cut]')).toBe(true)
    expect(record.stack?.endsWith('… [cut]')).toBe(true)
    expect(record.cause?.message).toHaveLength(1024)
    expect(record.cause?.message.endsWith('… [cut]')).toBe(true)
    expect(JSON.stringify(record)).not.toContain('4111')
    expect(errorRecord(new Error('x'.repeat(limits.errorText))).message).not.toContain('[cut]')
  })
})
