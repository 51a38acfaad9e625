// One stream for the whole browser tab. While it is open the pages read again what has changed; without it they poll.
import { computed, effect, signal } from '@preact/signals'
import type { WireChange } from '../../../src/http/wire.ts'
import { now } from '../time/zone.ts'
import { queries, refresh } from './query.ts'
import { clockOffset, lastContact, needsLogin } from './request.ts'
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
  const age = now.value - clockOffset.value - lastContact.value
  return isVisible.value && session.value && age > staleAfterMs ? age : 0
})

let stream: EventSource | null = null
let nextTry = 0
let isReadDue = false
const changed = new Set<string>()

/** Starts the clock of the page, the stream, and the poll that steps in for it. */
export function goLive(): void {
  setInterval(() => {
    now.value = Date.now() + clockOffset.value
  }, 1000)
  document.addEventListener('visibilitychange', () => {
    isVisible.value = !document.hidden
  })
  effect(() => {
    if (isVisible.value && session.value && !needsLogin.value) connect()
    else disconnect()
  })
  setInterval(() => {
    if (!isVisible.value || !session.value) return
    if (!isStreaming.value || Date.now() - lastContact.value > staleAfterMs / 2) poll()
    if (!stream && Date.now() >= nextTry) connect()
  }, pollMs)
}

/** When the next attempt to reach the server is made. */
export function nextTryMs(): number {
  return Math.max(0, pollMs - ((Date.now() - lastContact.value) % pollMs))
}

export function poll(): void {
  void readServer().catch(() => {})
  void queries.invalidateQueries({ predicate: (query) => query.queryKey[0] !== 'preview' })
}

function connect(): void {
  if (stream) return
  const opened = new EventSource(`${root}api/v1/events`)
  stream = opened
  opened.onopen = () => {
    isStreaming.value = true
    touch()
  }
  opened.onerror = () => {
    isStreaming.value = false
    opened.close()
    if (stream === opened) stream = null
    nextTry = Date.now() + reconnectMs
  }
  opened.addEventListener('change', (event) => {
    touch()
    note(JSON.parse((event as MessageEvent<string>).data) as WireChange)
  })
  opened.addEventListener('lag', () => {
    touch()
    for (const topic of ['overview', 'timeline', 'jobs', 'job', 'occurrences', 'occurrence', 'dead', 'nodes', 'operations'])
      changed.add(topic)
    readSoon()
  })
  opened.addEventListener('heartbeat', touch)
  opened.onmessage = touch
}

function disconnect(): void {
  stream?.close()
  stream = null
  isStreaming.value = false
}

function touch(): void {
  lastContact.value = Date.now()
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
    refresh(...changed)
    changed.clear()
  }, restMs)
}
