import { expect, test } from 'vitest'
import { changesOf } from '../../dashboard/src/page/audit/changes.ts'
import type { WireAuditRow } from '../../src/http/wire.ts'

const row = (given: Partial<WireAuditRow>) =>
  ({ before: null, after: null, refs: {}, data: null, event: null, ...given }) as WireAuditRow

test('instants stay numbers, so the page shows them as times', () => {
  const until = Date.parse('2026-03-01T12:00:00Z')
  expect(changesOf(row({ after: { until, limit: 1_795_000_000_000 } }))).toEqual([
    { field: 'until', before: null, after: until },
    { field: 'limit', before: null, after: '1795000000000' },
  ])
})

test('what the row says elsewhere, and the due time of ended work, are left out', () => {
  const before = { state: 'pending', dueAt: 1_795_000_000_000 }
  const after = { state: 'canceled', dueAt: 0, reason: 'paid', by: 'ada' }
  expect(changesOf(row({ before, after }))).toEqual([{ field: 'state', before: 'pending', after: 'canceled' }])
})

test('a business event shows its refs and data whole', () => {
  expect(changesOf(row({ event: 'invoice.sent', refs: { order: '7' }, data: { reason: 'due' } }))).toEqual([
    { field: 'order', before: null, after: '7' },
    { field: 'reason', before: null, after: 'due' },
  ])
})
