/**
 * Draws which folder of src imports which, into docs/architecture.md. With `--check` it writes nothing and fails when the
 * picture there is not the one it would draw.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { cruise } from 'dependency-cruiser'
import config from '../.dependency-cruiser.mjs'

const page = 'docs/architecture.md'
const [start, end] = ['<!-- import-graph:start -->', '<!-- import-graph:end -->']

const before = readFileSync(page, 'utf8').replaceAll('\r\n', '\n')
const after = between(before, await picture())
if (process.argv.includes('--check')) {
  if (before !== after) console.log(`The import graph in ${page} is out of date: run npm run graph.`)
  process.exit(before === after ? 0 : 1)
}
writeFileSync(page, after)

function between(text, content) {
  const [head, rest] = text.split(start)
  const tail = rest?.split(end)[1]
  if (tail === undefined) throw new Error(`${page} lacks the markers ${start} and ${end}`)
  return `${head}${start}\n\n${content}\n\n${end}${tail}`
}

async function picture() {
  const edges = withoutShortcuts(await folderImports())
  const names = [...new Set([...edges.keys(), ...[...edges.values()].flatMap((targets) => [...targets])])].sort()
  const boxes = names.map((name) => `  ${id(name)}["${name}"]`)
  const arrows = [...edges].flatMap(([from, targets]) => [...targets].sort().map((to) => `  ${id(from)} --> ${id(to)}`)).sort()
  return ['```mermaid', 'flowchart TD', ...boxes, ...arrows, '```'].join('\n')
}

async function folderImports() {
  const { output } = await cruise(['src'], config.options)
  const edges = new Map()
  for (const module of output.modules.filter(({ source }) => source.startsWith('src/'))) {
    const from = folder(module.source)
    if (!edges.has(from)) edges.set(from, new Set())
    for (const { resolved } of module.dependencies) {
      if (resolved.startsWith('src/') && folder(resolved) !== from) edges.get(from).add(folder(resolved))
    }
  }
  return edges
}

/** `src/store/sqlite/claim.ts` belongs to store/sqlite, `src/engine/loops/loop.ts` to engine, `src/errors.ts` to errors. */
function folder(path) {
  const [top, ...rest] = path.replace('src/', '').replace(/\.ts$/, '').split('/')
  return (top === 'store' || top === 'broker') && rest.length > 1 ? `${top}/${rest[0]}` : top
}

/** Leaves out an arrow where a longer way leads to the same folder. */
function withoutShortcuts(edges) {
  const reaches = (from, to, seen = new Set()) =>
    [...(edges.get(from) ?? [])].some((next) => next === to || (!seen.has(next) && seen.add(next) && reaches(next, to, seen)))
  const needed = (targets, to) => ![...targets].some((other) => other !== to && reaches(other, to))
  return new Map([...edges].map(([from, targets]) => [from, new Set([...targets].filter((to) => needed(targets, to)))]))
}

function id(name) {
  return name.replace('/', '_')
}
