import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { sectionsOf, withEarlierRows } from './earlier-page.ts'
import type { Spread } from './statistics.ts'

const folder = new URL('../results/', import.meta.url)

/** The head of a page. */
interface Colophon {
  /** The store's software and its version. Default: SQLite. */
  readonly engine?: string
  readonly packages: readonly string[]
  readonly notes: readonly string[]
}

/** The page of one benchmark: what is printed is also kept, and written to `results/`. */
export class Page {
  readonly #title: string
  readonly #run: string
  /** The tables of the page as it was written before, by their headings. */
  readonly #earlier: ReadonlyMap<string, string>
  /** The tables that were measured now. */
  readonly #sections = new Map<string, string>()
  #chart: string[] = []

  /** `rounds`: each table says when and in how many rounds it was measured. `continues`: the page whose other tables and rows stay. */
  constructor(title: string, { rounds, continues }: { rounds?: number; continues?: string } = {}) {
    this.#title = title
    this.#run = rounds === undefined ? '' : `Of ${today()}, ${rounds === 1 ? 'one round' : `${rounds} rounds`}.`
    this.#earlier = new Map(
      continues !== undefined && existsSync(fileOf(continues)) ? sectionsOf(readFileSync(fileOf(continues), 'utf8')) : [],
    )
  }

  table(heading: string, columns: readonly string[], measured: readonly (readonly string[])[], note = ''): void {
    const rows = withEarlierRows(this.#earlier.get(heading) ?? '', measured)
    if (rows.length === 0) return
    const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
    const about = [note, this.#run].filter((text) => text !== '').join(' ')
    const section = [...(about ? [about, ''] : []), ...lines].join('\n')
    this.#sections.set(heading, section)
    console.log(`\n## ${heading}\n\n${section}`)
  }

  /** A cell that says whether a goal was met. */
  goal(text: string, isMet: boolean): string {
    return `${text} ${isMet ? 'met' : 'MISSED'}`
  }

  /** Keeps an SVG beside the page, shown before the tables. */
  chart(name: string, svg: string): void {
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`${name}.svg`, folder), svg)
    this.#chart = ['', `![The ratios of the tables below as bars](${name}.svg)`]
  }

  write(name: string, { engine = `SQLite ${process.versions.sqlite}`, packages, notes }: Colophon): void {
    const sections = [...new Map([...this.#earlier, ...this.#sections])]
    const verdicts = sections.flatMap(([, section]) => section.match(/\b(met|MISSED)(?= \|)/g) ?? [])
    const missed = verdicts.filter((verdict) => verdict === 'MISSED').length
    const goals = verdicts.length === 0 ? [] : [`Goals missed: ${missed} of ${verdicts.length}.`]
    const head = [`# ${this.#title}`, '', machine(engine), `${versions(packages)}.`, ...notes, ...goals]
    const tables = sections.map(([heading, section]) => `\n## ${heading}\n\n${section}`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(fileOf(name), `${[...head, ...this.#chart, ...tables].join('\n')}\n`)
    console.log(`\nWritten to bench/results/${name}.md; goals missed: ${missed} of ${verdicts.length}`)
  }
}

const fileOf = (name: string) => new URL(`${name}.md`, folder)

/** A median with its lowest and highest, such as `12.3 (11.9–14.0)`. */
export function cell({ median, min, max }: Spread, digits?: number): string {
  return `${figure(median, digits)} (${figure(min, digits)}–${figure(max, digits)})`
}

export function figure(value: number, digits = value >= 100 ? 0 : value >= 10 ? 1 : 2): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function machine(engine: string): string {
  const cpus = os.cpus()
  const memory = Math.round(os.totalmem() / 2 ** 30)
  return `${today()}, Node ${process.versions.node}, ${engine}, ${cpus[0]?.model.trim()} × ${cpus.length}, ${memory} GiB, ${os.platform()} ${os.arch()}.`
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function versions(packages: readonly string[]): string {
  const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
  const peers = packages.map((name) => {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
    return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`
  })
  return [`Punctual ${own}`, ...peers].join(', ')
}
