import { readFileSync } from 'node:fs'

/** The rows of the tables under a heading, their cells trimmed and bare of backticks. Titles and rulers are left out. */
export function tableRows(path: string, heading: string): string[][] {
  const [, section = ''] = read(path).split(new RegExp(`^## ${heading}$`, 'm'))
  const lines = section.split(/^## /m)[0]?.split('\n') ?? []
  return lines
    .filter((line, at) => line.startsWith('|') && !line.startsWith('|---') && !lines[at + 1]?.startsWith('|---'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim().replaceAll('`', '')),
    )
}

export function read(path: string): string {
  return readFileSync(path, 'utf8')
}
