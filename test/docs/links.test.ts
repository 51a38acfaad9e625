import { existsSync, globSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { read } from './page.ts'

const pages = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')]

const ours =
  /^https:\/\/(?:github\.com\/punctual\/punctual\/(?:blob|tree)|raw\.githubusercontent\.com\/punctual\/punctual)\/main\//

test.each(pages)('every file that %s links to is there', (page) => {
  const targets = linksOf(page)
    .filter((link) => ours.test(link) || !/^https?:/.test(link))
    .map((link) => (ours.test(link) ? link.replace(ours, '') : join(dirname(page), link)))
  expect(targets.filter((target) => !existsSync(target))).toEqual([])
})

test('the README links by full addresses, which work on the page of a registry too', () => {
  expect(linksOf('README.md').filter((link) => !link.startsWith('https://'))).toEqual([])
  expect(linksOf('README.md').filter((link) => ours.test(link)).length).toBeGreaterThan(40)
  const { repository } = JSON.parse(read('package.json'))
  expect(repository.url).toBe('git+https://github.com/punctual/punctual.git')
})

test('the README links to every guide and every page of the reference', () => {
  const linked = linksOf('README.md').map((link) => link.replace(ours, ''))
  expect(globSync('docs/{guides,reference}/*.md').filter((page) => !linked.includes(page.replaceAll('\\', '/')))).toEqual([])
})

/** The addresses of a page's links and images, without their fragments. */
function linksOf(page: string): string[] {
  return [...read(page).matchAll(/\]\((?!#)([^)#\s]+)[^)]*\)/g)].map(([, link]) => link as string)
}
