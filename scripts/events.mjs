// Writes docs/reference/events.md from the types of the events. A test compares the page with the code.
import { readFileSync, writeFileSync } from 'node:fs'

const file = 'src/model/events.ts'

/** The page, and the events without a comment. */
export function eventsPage() {
  const text = readFileSync(file, 'utf8')
  const bare = []
  const rows = events(text).map(([name, comment, type]) => {
    if (comment === undefined) bare.push(name)
    const fields = fieldsOf(text, type).map(([field, of]) => `\`${field}: ${of.replaceAll('|', '\\|')}\``)
    return `| \`${name}\` | ${comment?.trim() ?? ''} | ${fields.join('<br>')} |`
  })
  const page = [
    '# Events',
    '`punctual.on(name, listener)` calls the listener; the returned function ends it. This page is made from the types by `node scripts/events.mjs`.',
    "```ts\nconst end = punctual.on('occurrence.failed', ({ job, id, error }) => console.error(job, id, error?.message))\n```",
    [
      'Guarantees:',
      '',
      '- An event is local to the process: it reports what this process has seen or done. The end of work on another node is an event there.',
      '- An event comes at most once. After a crash, or for work that another node has ended, it may not come at all. Use `onComplete` or the store for what must not be missed.',
      '- An event follows the write that it is about: a reader of the store finds at least that state.',
      '- A listener that throws or rejects is logged, and changes nothing. Listeners run synchronously: keep them short.',
      '- Without a listener for `occurrence.failed`, a final failure is logged as an error.',
    ].join('\n'),
    ['| event | when | payload |', '|---|---|---|', ...rows].join('\n'),
    'The types `ExecutionReport`, `ErrorRecord` and `Health` are in the [API reference](api.md).',
  ]
  return { page: `${page.join('\n\n')}\n`, bare }
}

function events(text) {
  const start = text.indexOf('export interface Events {')
  const body = text.slice(start, text.indexOf('\n}\n', start))
  return [...body.matchAll(/(?:^ {2}\/\*\*([^\n]*)\*\/\n)?^ {2}'([a-z.]+)': ([^\n]+)$/gm)].map(([, comment, name, type]) => [
    name,
    comment,
    type,
  ])
}

/** The fields of a type: of an object, of an interface of the file, of an intersection, or with some left out. */
function fieldsOf(text, type) {
  const [, of, omitted] = /^Omit<(\w+), '(\w+)'>$/.exec(type) ?? []
  if (of) return fieldsOf(text, of).filter(([name]) => name !== omitted)
  if (type.includes(' & ')) return type.split(' & ').flatMap((part) => fieldsOf(text, part))
  if (type.startsWith('{')) return type.slice(1, -1).split(';').map(field)
  const [, base, body] = new RegExp(`export (?:interface|type) ${type}(?: extends (\\w+))? (?:= )?\\{([^}]*)\\}`).exec(text) ?? []
  if (body === undefined) throw new Error(`${file} has no type ${type}`)
  const own = body
    .replaceAll(/\/\*\*[^\n]*\*\//g, '')
    .split(/[;\n]/)
    .filter((line) => line.includes(':'))
    .map(field)
  return [...(base ? fieldsOf(text, base) : []), ...own]
}

function field(text) {
  const [name, ...type] = text
    .trim()
    .replace(/^readonly /, '')
    .split(': ')
  return [name, type.join(': ').trim()]
}

if (import.meta.main) writeFileSync('docs/reference/events.md', eventsPage().page)
