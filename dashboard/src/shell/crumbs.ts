import { mainPages, morePages } from './pages.ts'
import { occurrenceTitle } from './title.ts'

interface Crumb {
  readonly text: string
  readonly path: string
}

/** The way to a page, as the top bar shows it. */
export function crumbs(path: string): Crumb[] {
  const [first = '', ...rest] = path.split('/').map(decodeURIComponent)
  const page = [...mainPages, ...morePages].find((one) => one.path === first)
  if (!page) return [{ text: 'Not found', path: '' }]
  const own = { text: page.title, path: page.path }
  if (rest.length === 0) return [own]
  const text = first === 'occurrences' ? (occurrenceTitle.value[rest[0]!] ?? rest[0]!.slice(0, 8)) : rest.at(-1)!
  return [own, { text, path }]
}
