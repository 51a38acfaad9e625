import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { read } from './page.ts'

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')]

test.each(pages)('every file that %s links to is there', (page) => {
  const targets = [...read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)].map(([, target]) =>
    join(dirname(page), target as string),
  )
  expect(targets.filter((target) => !existsSync(target))).toEqual([])
})
