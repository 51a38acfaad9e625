import { expect, test } from 'vitest'
import { eventsPage } from '../../scripts/events.mjs'
import { eventNames } from '../../src/model/events.ts'
import { read } from './page.ts'

test('every event has a comment, and the page of events has them all: node scripts/events.mjs writes it', () => {
  const { page, bare } = eventsPage()
  expect(bare).toEqual([])
  expect(read('docs/reference/events.md')).toBe(page)
  expect([...page.matchAll(/^\| `([a-z.]+)` \|/gm)].map(([, name]) => name)).toEqual(eventNames)
})
