// Writes docs/reference/api.md from the comments of what the package exports. A test compares the page with the code.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const entries = [
  ['punctual', 'src/index.ts'],
  ['punctual/memory', 'src/store/memory/index.ts'],
  ['punctual/sqlite', 'src/store/sqlite/index.ts'],
  ['punctual/postgres', 'src/store/postgres/index.ts'],
  ['punctual/timers', 'src/timers/index.ts'],
  ['punctual/local', 'src/broker/local/index.ts'],
  ['punctual/nats', 'src/broker/nats/index.ts'],
  ['punctual/rabbitmq', 'src/broker/rabbitmq/index.ts'],
  ['punctual/http', 'src/http/index.ts'],
  ['punctual/http-client', 'src/http-client/index.ts'],
  ['punctual/otel', 'src/otel/index.ts'],
  ['punctual/testing', 'src/testing/index.ts'],
]
/** A class is listed with those that it extends. */
const classes = [
  [
    'Punctual',
    ['src/client/punctual.ts', 'src/client/work-changes.ts', 'src/client/job-changes.ts', 'src/client/queries.ts'],
    'what `createPunctual` returns',
  ],
  ['Handle', ['src/client/handle.ts'], 'what `enqueue`, `enqueueMany`, `trigger` and `replay` return'],
  ['Context', ['src/model/context.ts'], 'what handlers get'],
  ['Timers', ['src/timers/timers.ts'], 'what `createTimers` returns'],
]

/** The page, and the names that have no comment. */
export function apiPage() {
  const bare = []
  const parts = [
    '# API',
    'Every exported name, and the members of what you use most. This page is made from the comments of the code by `node scripts/api.mjs`; the [guides](../guides/getting-started.md) show how the parts work together. Your editor shows the full comments and types.',
  ]
  for (const [name, files, what] of classes)
    parts.push(`## ${name}`, `\`${name}\` is ${what}.`, table(members(files), bare, `${name}.`))
  for (const [entry, file] of entries) parts.push(`## ${entry}`, table(exportsOf(file), bare, `${entry}: `))
  return { page: `${parts.join('\n\n')}\n`, bare }
}

function table(rows, bare, where) {
  for (const [name, text] of rows) if (text === '') bare.push(`${where}${name}`)
  return ['| name | what it is |', '|---|---|', ...rows.map(([name, text]) => `| \`${name}\` | ${text} |`)].join('\n')
}

/** The public members of classes or interfaces, each named after its file. */
function members(files) {
  const found = new Map()
  for (const file of files) addMembers(file, found)
  return [...found]
}

function addMembers(file, found) {
  const text = readFileSync(file, 'utf8')
  const name = basename(file, '.ts').replace(/(?:^|-)(\w)/g, (_, letter) => letter.toUpperCase())
  const start = text.search(new RegExp(`export (class|interface) ${name}\\b`))
  const body = text.slice(start, text.indexOf('\n}\n', start))
  const member = /(?:^ {2}\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?^ {2}(?:override |readonly |async |get )*([a-z]\w*)(?=[?<(:])/gm
  for (const [, comment, own] of body.matchAll(member)) {
    if (own === 'constructor' || (found.get(own) ?? '') !== '') continue
    found.set(own, sentence(comment))
  }
}

/** The names that a module exports, with their first sentence. */
function exportsOf(file) {
  const text = readFileSync(file, 'utf8')
  const rows = [...text.matchAll(/^export (?:async )?(?:function|const|class|interface|type) (\w+)/gm)].map(([, name]) => [
    name,
    file,
  ])
  for (const [, names, from] of text.matchAll(/^export (?:type )?\{([^}]*)\} from '([^']+)'/gm))
    for (const name of names.split(',').map((part) => part.trim().replace(/^type /, '')))
      if (name !== '') rows.push([name, join(dirname(file), from)])
  for (const [, names] of text.matchAll(/^export (?:type )?\{([^}]*)\}$/gm))
    for (const name of names.split(',').map((part) => part.trim().replace(/^type /, '')))
      if (name !== '') rows.push([name, importedFrom(text, file, name)])
  return rows.map(([name, at]) => [name, commentOf(name, at)]).sort(([a], [b]) => (a < b ? -1 : 1))
}

function importedFrom(text, file, name) {
  const [, from] = new RegExp(`import [^;]*\\b${name}\\b[^;]*? from '([^']+)'`).exec(text) ?? []
  return from ? join(dirname(file), from) : file
}

/** The comment of a declaration, there or where that module has it from. */
function commentOf(name, file) {
  const text = readFileSync(file, 'utf8')
  const declared = new RegExp(
    `(?:/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n)?(?:// biome-ignore[^\\n]*\\n)?export (?:async )?(?:function|const|class|interface|type) ${name}\\b`,
  )
  const found = declared.exec(text)
  if (found) return sentence(found[1])
  for (const [, from] of text.matchAll(/^export type \* from '([^']+)'/gm)) {
    const next = join(dirname(file), from)
    if (existsSync(next) && declared.test(readFileSync(next, 'utf8'))) return commentOf(name, next)
  }
  return ''
}

/** The text of a comment up to its first tag, in one line. */
function sentence(comment = '') {
  const text = comment.replace(/^\s*\*( |$)/gm, '').replace(/\s@[\s\S]*/, '')
  return text.replace(/\s+/g, ' ').trim().replaceAll('|', '\\|')
}

if (process.argv[1] === import.meta.filename) {
  const { page, bare } = apiPage()
  writeFileSync('docs/reference/api.md', page)
  if (bare.length > 0) process.stderr.write(`Without a comment: ${bare.join(', ')}\n`)
}
