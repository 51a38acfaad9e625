import { expect, test } from 'vitest'
import { abilities } from '../../src/store/abilities.ts'
import { read, tableRows } from './page.ts'

test('the guide to writing a store explains every ability, as the code does', () => {
  const rows = tableRows('docs/guides/writing-a-store.md', 'Abilities')
  expect(Object.fromEntries(rows.map(([name, text]) => [name, text?.split(':')[0]]))).toEqual(abilities)
})

test('the page of architecture names every ability', () => {
  const text = read('docs/architecture.md')
  expect(Object.keys(abilities).filter((name) => !text.includes(`(\`${name}\`)`))).toEqual([])
})
