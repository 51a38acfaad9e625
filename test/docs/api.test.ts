import { expect, test } from 'vitest'
import { apiPage } from '../../scripts/api.mjs'
import { read } from './page.ts'

test('every exported name has a comment, and the API page has them all: node scripts/api.mjs writes it', () => {
  const { page, bare } = apiPage()
  expect(bare).toEqual([])
  expect(read('docs/reference/api.md')).toBe(page)
})
