import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { cron } from '../../src/schedule/cron.ts'
import { interval } from '../../src/schedule/interval.ts'
import { rrule } from '../../src/schedule/rrule.ts'
import { cpuMicros, microsPerOp } from './measure.ts'
import { type Peer, peers, punctual } from './peers.ts'
import { randomStrings } from './random-strings.ts'

/** Measures the schedules beside their peers, in one run: ratios count, not absolute figures. */

const zones = ['UTC', 'America/New_York', 'Europe/Warsaw', 'Australia/Lord_Howe']
const rules = { 'every 5 minutes': '*/5 * * * *', 'weekdays 09:00': '0 9 * * 1-5', 'first of the month': '0 0 1 * *' }
const dates = Array.from({ length: 1024 }, (_, i) => new Date(Date.UTC(2025, 0, 1) + ((i * 7919) % 1024) * 61_234_567))
const lines: string[] = []
let missed = 0

heading('next, µs per call', ['zone', 'rule', 'punctual', ...peers.map((peer) => peer.name), 'ratio to the fastest', 'target'])
for (const zone of zones) {
  for (const [rule, text] of Object.entries(rules)) {
    const [own, ...others] = each((peer) => {
      const next = peer.next(text, zone)
      return microsPerOp((i) => next(dates[i & 1023] as Date))
    })
    row([zone, rule, ...micros(own, ...others), verdict(Math.min(...others) / own, 20)])
  }
}

const year = [new Date('2026-01-01T00:00:00Z'), new Date('2027-01-01T00:00:00Z')] as const
const month = [year[0], new Date('2026-02-01T00:00:00Z')] as const
heading('a year of every minute, seconds (peers: January, times 365/31)', [
  'zone',
  'punctual',
  ...names(),
  'ratio to the fastest',
  'target',
])
for (const zone of ['UTC', 'America/New_York']) {
  punctual.count('* * * * *', zone, ...month)
  const own = Math.min(...[1, 2, 3].map(() => cpuMicros(() => punctual.count('* * * * *', zone, ...year)))) / 1e6
  const others = peers.map((peer) => (cpuMicros(() => peer.count('* * * * *', zone, ...month)) / 1e6) * (365 / 31))
  row([zone, ...[own, ...others].map((seconds) => seconds.toFixed(3)), verdict(Math.min(...others) / own, 20)])
}

heading('parse, µs per text', ['text', 'punctual', ...names(), 'ratio to the fastest', 'target'])
for (const text of [...Object.values(rules), '15,45 8-18/2 * JAN-JUN MON-FRI']) {
  const [own, ...others] = each((peer) => microsPerOp(() => peer.parse(text, 'Europe/Warsaw')))
  row([`\`${text}\``, ...micros(own, ...others), verdict(Math.min(...others) / own, 1)])
}

heading('heap of 100,000 parsed schedules, MiB', ['', 'punctual', ...names(), 'ratio to the smallest', 'target'])
{
  const counts: Readonly<Record<string, number>> = { croner: 5000, 'cron-parser': 20_000 }
  const [own, ...others] = each((peer) => (heapPerSchedule(peer.name, counts[peer.name] ?? 100_000) * 100_000) / 2 ** 20)
  row(['cron text in a zone', ...[own, ...others].map((mib) => mib.toFixed(1)), verdict(Math.min(...others) / own, 4)])
}

heading('interval and rrule, µs per call', ['what', 'punctual', 'rrule-temporal', 'target'])
{
  const tenYears = Date.UTC(2036, 0, 15, 12)
  const texts = ['PT15M', 'P1D', 'P1M', 'P1Y2M10DT2H30M']
  for (const text of texts) {
    const schedule = interval(`R/2026-01-31T02:30:00/${text}`, { timezone: 'Europe/Warsaw' })
    const own = microsPerOp((i) => schedule.next(new Date(tenYears + (i & 1023) * 1_234_567)))
    row([`interval \`${text}\`, ten years from its anchor`, own.toFixed(2), '', limit(own, 20)])
  }
  const rule = 'DTSTART;TZID=Europe/Warsaw:20260131T023000\nRRULE:FREQ=DAILY'
  const own = rrule(rule)
  const { RRuleTemporal } = createRequire(import.meta.url)('rrule-temporal')
  const theirs = new RRuleTemporal({ rruleString: rule })
  const ask = (i: number) => new Date(tenYears + (i & 1023) * 1_234_567)
  row([
    'rule `FREQ=DAILY`, ten years from DTSTART',
    microsPerOp((i) => own.next(ask(i))).toFixed(1),
    microsPerOp((i) => theirs.next(ask(i))).toFixed(1),
    '',
  ])
}

heading('100,000 random strings, parsed or refused', ['what', 'value', 'target'])
{
  const strings = [...randomStrings(100_000)]
  const fastest = new Float64Array(strings.length).fill(Infinity)
  let parsed = 0
  // The best of three says what the text costs; a single time also holds whatever else the machine did.
  for (let round = 0; round < 3; round++) {
    parsed = 0
    for (const [i, text] of strings.entries()) {
      const began = performance.now()
      if (isParsed(text)) parsed++
      fastest[i] = Math.min(fastest[i] as number, performance.now() - began)
    }
  }
  const longest = fastest.reduce((most, each) => Math.max(most, each))
  row(['parsed, and their first instant found', String(parsed), ''])
  row(['longest of all, ms (best of three)', longest.toFixed(3), limit(longest, 5)])
}

const version = (name: string) =>
  JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8')).version
const libraries = ['croner', 'cron-parser', 'cronosjs', 'rrule-temporal'].map((name) => `${name} ${version(name)}`).join(', ')
const page = `# Schedules: speed and size

${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node} (tz ${process.versions.tz}), ${os.cpus()[0]?.model.trim()} × ${os.cpus().length}, ${os.platform()} ${os.arch()}.
Peers: ${libraries}. CPU time (user and system), best of seven short runs, all in one run: read the ratios.
Made by \`npm run time\` in \`bench/\`. Targets missed: ${missed}.
${lines.join('\n')}
`
writeFileSync(new URL('../results/time.md', import.meta.url), page)
console.log(`\n${missed === 0 ? 'all targets met' : `${missed} targets missed`}; written to bench/results/time.md`)

function isParsed(text: string): boolean {
  try {
    cron(text, { timezone: 'Europe/Warsaw' }).nextMs(0)
    return true
  } catch {
    return false
  }
}

function heading(title: string, columns: readonly string[]): void {
  print('', `## ${title}`, '', `| ${columns.join(' | ')} |`, `|${columns.map(() => '---|').join('')}`)
}

function row(cells: readonly (string | readonly string[])[]): void {
  print(`| ${cells.flat().join(' | ')} |`)
}

function print(...texts: string[]): void {
  lines.push(...texts)
  console.log(texts.join('\n'))
}

function names(): string[] {
  return peers.map((peer) => peer.name)
}

function each(measure: (peer: Peer) => number): [number, ...number[]] {
  return [measure(punctual), ...peers.map(measure)]
}

function micros(...values: number[]): string[] {
  return values.map((value) => value.toFixed(value < 10 ? 3 : 1))
}

function verdict(ratio: number, least: number): string[] {
  const isMet = ratio >= least
  if (!isMet) missed++
  return [`${ratio.toFixed(1)}×`, `≥ ${least}× ${isMet ? 'met' : 'MISSED'}`]
}

function limit(value: number, most: number): string {
  const isMet = value <= most
  if (!isMet) missed++
  return `≤ ${most} ${isMet ? 'met' : 'MISSED'}`
}

function heapPerSchedule(name: string, count: number): number {
  const script = fileURLToPath(new URL('heap.ts', import.meta.url))
  return Number(
    execFileSync(process.execPath, ['--expose-gc', '--max-old-space-size=4096', script, name, String(count)], {
      encoding: 'utf8',
    }),
  )
}
