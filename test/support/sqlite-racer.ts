// One of several processes that claim from the same file: claims and settles until nothing is left, and reports what it got.
import { randomUUID } from 'node:crypto'
import { sqlite } from '../../src/store/sqlite/index.ts'
import { type Clock, systemClock } from '../../src/time/clock.ts'
import { loneNode } from './lone-node.ts'

export interface RaceReport {
  readonly ids: readonly string[]
  /** How often it waited for another process, and how often the event loop had not turned when the wait was over. */
  readonly waits: number
  readonly blocked: number
}

const [path = ''] = process.argv.slice(2)
const node = loneNode('racer')
const { boot } = node
let waits = 0
let blocked = 0

const clock: Clock = {
  ...systemClock,
  timer(ms, fn) {
    let hasTurned = false
    setImmediate(() => (hasTurned = true))
    waits++
    return systemClock.timer(ms, () => {
      if (!hasTurned) blocked++
      fn()
    })
  },
}

const store = sqlite(path)
await store.open({ clock, random: Math.random })
await store.beat({ node, claims: [], inFlight: [], long: [], phase: 'join' })
process.send?.('ready')
process.once('message', () => void race())

async function race(): Promise<void> {
  const ids: string[] = []
  for (;;) {
    const claim = { id: randomUUID(), token: randomUUID() }
    const { members } = await store.claim({ ...claim, node: boot, kinds: ['mail'], limit: 20 })
    if (members.length === 0) break
    ids.push(...members.map((member) => member.record.id))
    const end = {
      end: 'completed',
      startedAt: 1,
      endedAt: 2,
      result: null,
      error: null,
      attempt: 'succeeded',
      settings: null,
      tasks: null,
      reason: null,
    } as const
    await store.settle(
      members.map((member) => ({ claim, member, end, attempts: [], delayMs: 0 })),
      { done: [claim] },
    )
  }
  await store.close()
  process.send?.({ ids, waits, blocked } satisfies RaceReport, () => process.disconnect())
}
