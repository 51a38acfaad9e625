import type { Page } from '../../store/query.ts'
import type { WireOccurrenceLine } from '../wire.ts'

type ReadPage = (most: number, cursor: string | undefined) => Promise<Page<WireOccurrenceLine>>

const columns = [
  'id',
  'tenant',
  'job',
  'key',
  'idempotencyKey',
  'entity',
  'state',
  'source',
  'turn',
  'scheduledAt',
  'dueAt',
  'createdAt',
  'startedAt',
  'endedAt',
  'tookMs',
  'error',
] as const satisfies readonly (keyof WireOccurrenceLine)[]

/** A list as a stream, a page at a time: the reader sets the pace. The first page is read before: a refusal still has its status. */
export async function exported(format: 'ndjson' | 'csv', most: number, read: ReadPage): Promise<Response> {
  const toText = format === 'csv' ? csvLine : (line: WireOccurrenceLine) => `${JSON.stringify(line)}\n`
  const encoder = new TextEncoder()
  let first: Page<WireOccurrenceLine> | null = await read(most, undefined)
  let cursor: string | undefined
  let left = most
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      if (format === 'csv') controller.enqueue(encoder.encode(`${columns.join(',')}\r\n`))
    },
    pull: async (controller) => {
      const page = first ?? (await read(left, cursor))
      first = null
      left -= page.items.length
      cursor = page.cursor ?? undefined
      const text = page.items.map(toText).join('')
      if (text !== '') controller.enqueue(encoder.encode(text))
      if (cursor === undefined || left <= 0) controller.close()
      // A page without a match sends nothing, and the stream pulls again only after a chunk. So send an empty one.
      else if (text === '') controller.enqueue(new Uint8Array())
    },
  })
  const type = format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/x-ndjson'
  return new Response(body, {
    headers: { 'Content-Type': type, 'Content-Disposition': `attachment; filename="occurrences.${format}"` },
  })
}

function csvLine(line: WireOccurrenceLine): string {
  return `${columns.map((name) => csvCell(name === 'error' ? (line.error?.message ?? null) : line[name])).join(',')}\r\n`
}

/** Text that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvCell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
