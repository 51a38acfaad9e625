import { expect, it } from 'vitest'
import type { OccurrenceRecord } from '../../../src/model/occurrence.ts'
import { changedRecord } from '../../../src/store/rules/conflict.ts'
import type { NewOccurrence } from '../../../src/store/store.ts'

const record = { payload: '1', priority: 5, scheduledAt: 100, keyVersion: 3 } as OccurrenceRecord

it.each([
  ['moves', 'reschedule', {}, { payload: '1', priority: 5, keyVersion: 3 }],
  ['replaces', 'replace', {}, { payload: '2', priority: 1, keyVersion: 3 }],
  ['replaces, with its version,', 'replace', { keyVersion: 7 }, { payload: '2', priority: 1, keyVersion: 7 }],
] as const)('a row that %s existing work (%s)', (_, change, over, expected) => {
  const row = { payload: '2', priority: 1, ...over } as NewOccurrence
  expect(changedRecord(record, row, change, 200)).toEqual({ ...expected, scheduledAt: 200 })
})
