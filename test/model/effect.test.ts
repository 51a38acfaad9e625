import { expect, test } from 'vitest'
import { isOutcomeUnknown } from '../../src/model/effect.ts'

const broken = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

test.each([
  ['a broken line', broken, true],
  ['a broken line as the cause', new TypeError('fetch failed', { cause: broken }), true],
  ['a broken line among the errors of an AggregateError', new AggregateError([new Error('refused'), broken]), true],
  ['a refusal', new Error('card refused'), false],
  ['refusals alone in an AggregateError', new AggregateError([new Error('refused')]), false],
])('BL-6 %s: whether the outcome is unknown', (_, error, isUnknown) => {
  expect(isOutcomeUnknown(error)).toBe(isUnknown)
})
