// A node on verbs alone: order.process.ts URL SCHEMA BOOT TTL. It takes and ends keyed work until there is none, and says when it has
// joined and what it has ended.
import { setTimeout as sleep } from 'node:timers/promises'
import { postgres } from '../../../src/store/postgres/index.ts'
import type { ClaimMember } from '../../../src/store/store.ts'
import { systemClock } from '../../../src/time/clock.ts'

const [url = '', schema = '', boot = '', ttl = ''] = process.argv.slice(2)
const store = postgres(url, { schema })
await store.open({ clock: systemClock, random: Math.random })
const info = { name: boot, pid: process.pid, concurrency: 20, kinds: ['mail'], version: '1', tz: '', release: null, declares: {} }
const node = { ...info, boot, ttlMs: Number(ttl), picks: false, isDraining: false, parts: {} }
await store.beat({ node, claims: [], inFlight: [], long: [], phase: 'join' })
process.stdout.write(`${JSON.stringify({ what: 'joined' })}\n`)

let claims = 0
const request = () => ({ id: `${boot} ${++claims}`, token: boot, node: boot, kinds: ['mail'], limit: 20 })
let current = request()
let members: readonly ClaimMember[] = (await store.claim(current)).members
for (;;) {
  if (members.length === 0) {
    const { states } = await store.counts({})
    if (states.pending + states.waiting + states.retrying + states.running === 0) break
    await sleep(5)
    current = request()
    members = (await store.claim(current)).members
    continue
  }
  const startedAt = Date.now()
  const none = { result: null, error: null, attempt: null, settings: null, tasks: null, reason: null }
  const end = { ...none, end: 'completed', startedAt, endedAt: Date.now() } as const
  const { id, token } = current
  const items = members.map((member) => ({ claim: { id, token }, member, end, attempts: [], delayMs: 0 }))
  const next = request()
  const { claimed } = await store.settle(items, { done: [{ id, token }], claim: next })
  process.stdout.write(`${JSON.stringify({ what: 'ended', count: items.length })}\n`)
  current = next
  members = claimed?.members ?? []
}
process.stdout.write(`${JSON.stringify({ what: 'done' })}\n`)
await store.close()
