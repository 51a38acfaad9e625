import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'

test('S11, S18, S21, S23: 10,000 spoiled requests bring no 5xx, change nothing, and are all answered', async () => {
  const { cases, statuses, faults } = await fuzz(10_000, 1)
  expect(faults).toEqual([])
  expect(Object.values(statuses).reduce((sum, count) => sum + count, 0)).toBe(cases)
  expect(statuses[200]).toBeGreaterThan(100)
})
