/** Holds the dashboard to its budget: what the first screen loads, and all of it, in gzip. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { gzipSync } from 'node:zlib'

const folder = 'dist/dashboard'
const budget = { 'first screen': 80_000, all: 150_000 }

const sizes = new Map(
  ['index.html', ...readdirSync(join(folder, 'assets')).map((name) => `assets/${name}`)].map((name) => [name, packed(name)]),
)
const found = { 'first screen': sum(firstScreen()), all: sum([...sizes.keys()]) }
for (const [part, most] of Object.entries(budget)) console.log(`${part}: ${found[part]} of ${most} bytes`)
process.exit(Object.entries(budget).every(([part, most]) => found[part] <= most) ? 0 : 1)

/** The page, its styles, its script, and what the script imports without being asked to. */
function firstScreen() {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const names = new Set(['index.html'])
  const add = (name) => {
    if (names.has(name) || !sizes.has(name)) return
    names.add(name)
    if (name.endsWith('.js')) for (const other of staticImports(name)) add(other)
  }
  for (const [, name] of page.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)) add(name)
  return [...names]
}

function staticImports(name) {
  const text = readFileSync(join(folder, name), 'utf8')
  return [...text.matchAll(/(?:from|import)\s*["']\.\/([^"']+)["']/g)].map(([, other]) => `assets/${other}`)
}

function sum(names) {
  return names.reduce((total, name) => total + sizes.get(name), 0)
}

function packed(name) {
  return gzipSync(readFileSync(join(folder, name)), { level: 9 }).length
}
