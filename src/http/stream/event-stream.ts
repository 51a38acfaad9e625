import type { Caller } from '../access/identity.ts'
import { Refusal } from '../problem.ts'
import type { WireChange } from '../wire.ts'
import type { Changes, Message } from './changes.ts'

const heartbeatMs = 15_000
const mostStreams = 1000
const mostPerCaller = 50
/** Messages that wait for a slow reader; beyond this number it gets the order to read everything again. */
const mostWaiting = 32

const perCaller = new WeakMap<Changes, Map<string, number>>()

/** Changes as server-sent events. `Last-Event-ID` continues where a connection broke off, as far as messages are kept. */
export function eventStream(caller: Caller, request: Request, changes: Changes): Response {
  const key = caller.token ?? `${caller.via} ${caller.name}`
  const counts = perCaller.get(changes) ?? new Map<string, number>()
  perCaller.set(changes, counts)
  const own = counts.get(key) ?? 0
  if (changes.listeners >= mostStreams || own >= mostPerCaller)
    throw new Refusal('request.throttled', `A caller may have ${mostPerCaller} streams`, {}, { 'Retry-After': '5' })
  counts.set(key, own + 1)

  const encoder = new TextEncoder()
  let stop = () => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const write = (text: string) => controller.enqueue(encoder.encode(text))
        let isBehind = false
        const send = (message: Message) => {
          if ((controller.desiredSize ?? 0) <= 0) {
            isBehind = true
            return
          }
          if (isBehind) write(lagText(message.id))
          isBehind = false
          write(messageText(message, caller))
        }
        write(`retry: 2000\n\n`)
        for (const message of missed(request, changes))
          write(typeof message === 'string' ? message : messageText(message, caller))
        const leave = changes.subscribe(send)
        const beat = setInterval(() => {
          if ((controller.desiredSize ?? 0) > 0) write('event: heartbeat\ndata: {}\n\n')
        }, heartbeatMs)
        beat.unref()
        stop = () => {
          stop = () => {}
          clearInterval(beat)
          leave()
          const left = (counts.get(key) ?? 1) - 1
          if (left > 0) counts.set(key, left)
          else counts.delete(key)
        }
        request.signal?.addEventListener('abort', () => {
          stop()
          try {
            controller.close()
          } catch {}
        })
      },
      cancel: () => stop(),
    },
    { highWaterMark: mostWaiting },
  )
  return new Response(body, {
    headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' },
  })
}

/** The messages since the last one that the client has; or the word to read everything again. */
function missed(request: Request, changes: Changes): readonly (Message | string)[] {
  const text = request.headers.get('last-event-id')
  if (text === null) return []
  const since = /^\d{1,15}$/.test(text) ? changes.since(Number(text)) : null
  return since ?? [lagText(null)]
}

function lagText(id: number | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: lag\ndata: {}\n\n`
}

function messageText({ id, change, isLag }: Message, caller: Caller): string {
  const lag = isLag ? 'event: lag\ndata: {}\n\n' : ''
  return `${lag}id: ${id}\nevent: change\ndata: ${JSON.stringify(visible(change, caller))}\n\n`
}

/** Only changes that the caller may see. Changes of unknown origin are sent without a name. */
function visible(change: WireChange, { tenants }: Caller): WireChange {
  if (tenants === null) return change
  const isOwn = ({ tenant }: { readonly tenant: string }) => tenant === '' || tenants.includes(tenant)
  return { ...change, jobs: change.jobs.filter(isOwn), occurrences: change.occurrences.filter(isOwn), counts: {} }
}
