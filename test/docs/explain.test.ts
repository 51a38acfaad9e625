import { expect, test } from 'vitest'
import { reasonCodes } from '../../src/client/reason.ts'
import { tableRows } from './page.ts'

test('the page of explain has every reason, in the order of the code', () => {
  expect(tableRows('docs/reference/explain.md', 'Reasons').map(([code]) => code)).toEqual([...reasonCodes])
})
