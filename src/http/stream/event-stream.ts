import type { Caller } from '../access/identity.ts'
import { Refusal } from '../problem.ts'
import type { WireChange } from '../wire.ts'
import type { Changes, Message } from './changes.ts'

const heartbeatMs = 15_000
const mostStreams = 1000
const mostPerCaller = 50
/** Messages that wait for a slow reader; beyond this number it gets the order to read everything again. */
const mostWaiting = 32

const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store, no-transform', 'X-Accel-Buffering': 'no' }

const perCaller = new WeakMap<Changes, Map<string, number>>()

/** Changes as server-sent events. `Last-Event-ID` continues where a connection broke off, as far as messages are kept. */
export function eventStream(
  caller: Caller,
  request: Request,
  { changes, isStillLetIn }: { changes: Changes; isStillLetIn: () => Promise<boolean> },
): Response {
  // The answer to HEAD has no body: a stream would never be read or canceled.
  if (request.method === 'HEAD') return new Response(null, { headers })
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
        let isOver = false
        const end = () => {
          stop()
          try {
            controller.close()
          } catch {}
        }
        const checked = async (act: () => void) => {
          // A store that is away is no reason to send anyone away.
          const isLetIn = await isStillLetIn().catch((error) => !(error instanceof Refusal))
          if (isOver) return
          if (isLetIn) act()
          else end()
        }
        const send = (message: Message) => {
          if ((controller.desiredSize ?? 0) <= 0) {
            isBehind = true
            return
          }
          if (isBehind) write(lagText(changes.idText(message.id)))
          isBehind = false
          write(messageText(message, caller, changes))
        }
        write(`retry: 2000\n\n`)
        for (const message of missed(request, changes))
          write(typeof message === 'string' ? message : messageText(message, caller, changes))
        // A token is looked at again with each message: one that is revoked or has expired ends its streams. Others with each heartbeat.
        const leave = changes.subscribe((message) => (caller.token === null ? send(message) : void checked(() => send(message))))
        const beat = setInterval(() => {
          void checked(() => {
            if ((controller.desiredSize ?? 0) > 0) write('event: heartbeat\ndata: {}\n\n')
          })
        }, heartbeatMs)
        beat.unref()
        stop = () => {
          stop = () => {}
          isOver = true
          clearInterval(beat)
          leave()
          const left = (counts.get(key) ?? 1) - 1
          if (left > 0) counts.set(key, left)
          else counts.delete(key)
        }
        request.signal?.addEventListener('abort', end)
      },
      cancel: () => stop(),
    },
    { highWaterMark: mostWaiting },
  )
  return new Response(body, { headers })
}

/** The messages since the last one that the client has; or the word to read everything again. */
function missed(request: Request, changes: Changes): readonly (Message | string)[] {
  const text = request.headers.get('last-event-id')
  if (text === null) return []
  return changes.since(text) ?? [lagText(null)]
}

function lagText(id: string | null): string {
  return `${id === null ? '' : `id: ${id}\n`}event: lag\ndata: {}\n\n`
}

function messageText({ id, change, isLag }: Message, caller: Caller, changes: Changes): string {
  const lag = isLag ? 'event: lag\ndata: {}\n\n' : ''
  return `${lag}id: ${changes.idText(id)}\nevent: change\ndata: ${JSON.stringify(visible(change, caller))}\n\n`
}

/** Only changes that the caller may see. Changes of unknown origin are sent without a name. */
function visible(change: WireChange, { tenants }: Caller): WireChange {
  if (tenants === null) return change
  const isOwn = ({ tenant }: { readonly tenant: string }) => tenant === '' || tenants.includes(tenant)
  return { ...change, jobs: change.jobs.filter(isOwn), occurrences: change.occurrences.filter(isOwn), counts: {} }
}
