// Writes to a file without end, and prints each act once it is acknowledged. It can be killed at any point.
import { randomUUID } from 'node:crypto'
import { writeSync } from 'node:fs'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { NewOccurrence } from '../../src/store/store.ts'
import { systemClock } from '../../src/time/clock.ts'
import { loneNode } from './lone-node.ts'

/** An act that a writer prints. */
export type Act = 'created' | 'claimed' | 'completed'

const [path = ''] = process.argv.slice(2)
const node = loneNode('writer')
const { boot } = node
const store = sqlite(path)
await store.open({ clock: systemClock, random: Math.random })
await store.beat({ node, claims: [], inFlight: [], long: [], phase: 'join' })

for (;;) {
  const { rows: created } = await store.create(Array.from({ length: 5 }, newRow))
  tell('created', created)
  const claim = { id: randomUUID(), token: randomUUID() }
  const { members } = await store.claim({ ...claim, node: boot, kinds: ['mail'], limit: 4 })
  tell(
    'claimed',
    members.map((member) => member.record),
  )
  const [parked, ...completed] = members
  const end = {
    startedAt: 1,
    endedAt: 2,
    result: null,
    error: null,
    attempt: null,
    settings: null,
    tasks: null,
    reason: null,
  } as const
  const settled = members.map((member) => ({
    claim,
    member,
    end: { ...end, end: member === parked ? ('parked' as const) : ('completed' as const) },
    attempts: [],
    delayMs: 0,
  }))
  await store.settle(settled, { done: [claim] })
  tell(
    'completed',
    completed.map((member) => member.record),
  )
}

function newRow(): NewOccurrence {
  const common = {
    tenant: 'default',
    job: 'mail',
    definition: 'mail',
    key: null,
    entity: null,
    parent: null,
    refs: {},
    payload: null,
    settings: null,
    limits: null,
    replay: null,
    startWithinMs: null,
    version: null,
    isHooked: false,
    scheduledAt: null,
  } as const
  return { ...common, id: randomUUID(), source: 'deferred', unique: 'ever', priority: 5, due: { in: 0 }, onConflict: 'keep' }
}

function tell(act: Act, occurrences: readonly { readonly id: string }[]): void {
  for (const { id } of occurrences) while (!isWritten(`${act} ${id}\n`));
}

/** The pipe may be full while the reader is slow. */
function isWritten(line: string): boolean {
  try {
    writeSync(1, line)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    return false
  }
}
