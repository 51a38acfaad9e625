// One stream for all visible tabs of the browser: one holds it and passes its messages on. While it is open the pages read again
// what has changed; without it they poll.
import { computed, effect, signal } from '@preact/signals'
import type { WireChange } from '../../../src/http/wire.ts'
import { now } from '../time/zone.ts'
import { isHeld, queries, refresh } from './query.ts'
import { clockOffset, lastContact, needsLogin, outage } from './request.ts'
import { root } from './root.ts'
import { readServer, session } from './session.ts'

const staleAfterMs = 10_000
const pollMs = 5000
const reconnectMs = 4000
/** Reads that changes ask for are at least this far apart. */
const restMs = 1000

export const isStreaming = signal(false)
const isVisible = signal(!document.hidden)

/** How old the newest answer is, when that is worth saying. */
export const staleMs = computed(() => {
  const age = now.value - clockOffset.value - Math.min(lastContact.value, outage.value?.since ?? Number.POSITIVE_INFINITY)
  return isVisible.value && session.value && !isHeld.value && age > staleAfterMs ? age : 0
})

interface Told {
  readonly kind: 'contact' | 'change' | 'lag' | 'gone'
  readonly data: string
}

const shared = `punctual ${new URL(root, location.href).pathname}`
const tabs = 'BroadcastChannel' in globalThis ? new BroadcastChannel(shared) : null
/** Set while this tab takes part in the stream. */
let turn: AbortController | null = null
let stream: EventSource | null = null
/** When this tab, which holds the stream, opens it again. */
let nextTry = Number.POSITIVE_INFINITY
let isReadDue = false
const changed = new Set<string>()

/** Starts the clock of the page, the stream, and the poll that steps in for it. */
export function goLive(): void {
  setInterval(() => {
    if (!isHeld.value) now.value = Date.now() + clockOffset.value
  }, 1000)
  document.addEventListener('visibilitychange', () => {
    isVisible.value = !document.hidden
  })
  if (tabs) tabs.onmessage = ({ data }: MessageEvent<Told>) => hear(data)
  effect(() => {
    if (isVisible.value && session.value && !needsLogin.value && !isHeld.value) connect()
    else disconnect()
  })
  setInterval(() => {
    if (!isVisible.value || !session.value || isHeld.value) return
    if (!isStreaming.value || outage.value || Date.now() - lastContact.value > staleAfterMs / 2) poll()
    if (!stream && Date.now() >= nextTry) open()
  }, pollMs)
}

/** Holds the page and its clock still, or reads everything again and goes on. */
export function hold(isStill: boolean): void {
  isHeld.value = isStill
  if (isStill) return
  now.value = Date.now() + clockOffset.value
  poll()
}

/** When the next attempt to reach the server is made. */
export function nextTryMs(): number {
  return Math.max(0, pollMs - ((Date.now() - lastContact.value) % pollMs))
}

export function poll(): void {
  void readServer().catch(() => {})
  // A read under way goes on: a slow one would otherwise begin anew with every poll.
  void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== 'preview' }, { cancelRefetch: false })
}

/** Takes part in the stream: opens it as soon as no other tab holds it. Without locks (plain HTTP) each tab has its own. */
function connect(): void {
  if (turn) return
  const own = new AbortController()
  turn = own
  if (!navigator.locks) return open()
  const hold = () => {
    open()
    return new Promise<void>((resolve) => own.signal.addEventListener('abort', () => resolve()))
  }
  navigator.locks.request(shared, { signal: own.signal }, hold).catch(() => {})
}

function open(): void {
  const opened = new EventSource(`${root}api/v1/events`)
  stream = opened
  nextTry = Number.POSITIVE_INFINITY
  const pass = (kind: Told['kind'], data = '') => {
    hear({ kind, data })
    tabs?.postMessage({ kind, data } satisfies Told)
  }
  opened.onopen = () => pass('contact')
  opened.onerror = () => {
    opened.close()
    stream = null
    nextTry = Date.now() + reconnectMs
    pass('gone')
  }
  opened.addEventListener('change', (event) => pass('change', (event as MessageEvent<string>).data))
  opened.addEventListener('lag', () => pass('lag'))
  opened.addEventListener('heartbeat', () => pass('contact'))
  opened.onmessage = () => pass('contact')
}

/** A message of the stream, from this tab or from the one that holds it. */
function hear({ kind, data }: Told): void {
  if (!turn) return
  isStreaming.value = kind !== 'gone'
  if (kind === 'gone') return
  lastContact.value = Date.now()
  if (kind === 'change') note(JSON.parse(data) as WireChange)
  if (kind === 'lag') {
    for (const topic of ['overview', 'timeline', 'jobs', 'job', 'occurrences', 'occurrence', 'dead', 'nodes', 'operations'])
      changed.add(topic)
    readSoon()
  }
}

function disconnect(): void {
  turn?.abort()
  turn = null
  stream?.close()
  stream = null
  nextTry = Number.POSITIVE_INFINITY
  isStreaming.value = false
}

function note({ jobs, occurrences, nodes }: WireChange): void {
  if (jobs.length > 0 || occurrences.length > 0)
    for (const topic of ['overview', 'timeline', 'jobs', 'job', 'occurrences', 'occurrence', 'dead', 'operations', 'server'])
      changed.add(topic)
  if (nodes) for (const topic of ['nodes', 'overview', 'server']) changed.add(topic)
  if (changed.size > 0) readSoon()
}

/** Changes come in crowds: one read for all of them. */
function readSoon(): void {
  if (isReadDue) return
  isReadDue = true
  setTimeout(() => {
    isReadDue = false
    if (changed.delete('server')) void readServer().catch(() => {})
    // A read under way goes on; the same is read again after it.
    const free = [...changed].filter((topic) => queries.isFetching({ queryKey: [topic] }) === 0)
    for (const topic of free) changed.delete(topic)
    refresh(...free)
    if (changed.size > 0) readSoon()
  }, restMs)
}
