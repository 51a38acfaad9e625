import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Spread } from './statistics.ts'

const folder = new URL('../results/', import.meta.url)

/** What stands at the head of a page. */
interface Colophon {
  /** The store's software and its version. Default: SQLite. */
  readonly engine?: string
  readonly packages: readonly string[]
  readonly notes: readonly string[]
}

/** The page of one benchmark: what is printed is also kept, and written to `results/` when all of it has been measured. */
export class Page {
  readonly #title: string
  readonly #lines: string[] = []
  #judged = 0
  #missed = 0

  constructor(title: string) {
    this.#title = title
  }

  /** How many goals were missed so far. */
  get missed(): number {
    return this.#missed
  }

  table(heading: string, columns: readonly string[], rows: readonly (readonly string[])[], note = ''): void {
    const lines = [columns, columns.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
    this.#print('', `## ${heading}`, '', ...(note ? [note, ''] : []), ...lines)
  }

  /** A cell that says whether a goal was met. */
  goal(text: string, isMet: boolean): string {
    this.#judged++
    if (!isMet) this.#missed++
    return `${text} ${isMet ? 'met' : 'MISSED'}`
  }

  /** Keeps an SVG beside the page, shown before the tables. */
  chart(name: string, svg: string): void {
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`${name}.svg`, folder), svg)
    this.#lines.unshift('', `![The ratios of the tables below as bars](${name}.svg)`)
  }

  write(name: string, { engine = `SQLite ${process.versions.sqlite}`, packages, notes }: Colophon): void {
    const goals = this.#judged === 0 ? [] : [`Goals missed: ${this.#missed}.`]
    const head = [`# ${this.#title}`, '', machine(engine), `${versions(packages)}.`, ...notes, ...goals]
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`${name}.md`, folder), `${[...head, ...this.#lines].join('\n')}\n`)
    console.log(`\nWritten to bench/results/${name}.md; goals missed: ${this.#missed} of ${this.#judged}`)
  }

  #print(...lines: string[]): void {
    this.#lines.push(...lines)
    console.log(lines.join('\n'))
  }
}

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
  const day = new Date().toISOString().slice(0, 10)
  return `${day}, Node ${process.versions.node}, ${engine}, ${cpus[0]?.model.trim()} × ${cpus.length}, ${memory} GiB, ${os.platform()} ${os.arch()}.`
}

function versions(packages: readonly string[]): string {
  const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
  const peers = packages.map((name) => {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
    return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`
  })
  return [`Punctual ${own}`, ...peers].join(', ')
}
