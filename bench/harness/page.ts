import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Spread } from './statistics.ts'

/** The page of one benchmark: what is printed is also kept, and written to `results/` when all of it has been measured. */
export class Page {
  readonly #title: string
  readonly #lines: string[] = []
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
    if (!isMet) this.#missed++
    return `${text} ${isMet ? 'met' : 'MISSED'}`
  }

  write(name: string, { packages, notes }: { packages: readonly string[]; notes: readonly string[] }): void {
    const folder = new URL('../results/', import.meta.url)
    const head = [`# ${this.#title}`, '', machine(), `${versions(packages)}.`, ...notes, `Goals missed: ${this.#missed}.`]
    mkdirSync(folder, { recursive: true })
    writeFileSync(new URL(`${name}.md`, folder), `${[...head, ...this.#lines].join('\n')}\n`)
    console.log(`\nWritten to bench/results/${name}.md; goals missed: ${this.#missed}`)
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

function machine(): string {
  const cpus = os.cpus()
  const memory = Math.round(os.totalmem() / 2 ** 30)
  const day = new Date().toISOString().slice(0, 10)
  return `${day}, Node ${process.versions.node} (SQLite ${process.versions.sqlite}), ${cpus[0]?.model.trim()} × ${cpus.length}, ${memory} GiB, ${os.platform()} ${os.arch()}.`
}

function versions(packages: readonly string[]): string {
  const own = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
  const peers = packages.map((name) => {
    const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
    return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`
  })
  return [`Punctual ${own}`, ...peers].join(', ')
}
