// The thread that beats for a process that is blocked. See pulse.ts.
import { parentPort, workerData } from 'node:worker_threads'
import type { NodeInfo, Store } from '../../store/store.ts'
import { processMono, sleep, systemClock } from '../../time/clock.ts'
import type { PulseNote, PulseOptions } from './pulse.ts'

const { reopen, beatMs, ttlMs } = workerData as PulseOptions
const port = parentPort as NonNullable<typeof parentPort>
// Loaded before it is needed, since by then the process may be short of everything, but not beside the first work of the process.
const loaded = sleep(systemClock, beatMs).then(() => import(reopen.module))

let opened: Store | null = null
let note: PulseNote | null = null
let cancelTimer = () => {}
let work: Promise<void> = Promise.resolve()

port.on('message', (next: PulseNote | null) => {
  note = next
  cancelTimer()
  // Later than the process would beat, and well before its ttl is over.
  if (next) cancelTimer = systemClock.timer(Math.min(2 * beatMs, (beatMs + ttlMs) / 2), pulse)
  work = work.then(close)
})

function pulse(): void {
  const current = note
  if (!current || processMono() >= current.until) return
  work = work.then(() => beat(current)).catch(() => {})
  cancelTimer = systemClock.timer(beatMs, pulse)
}

async function beat(current: PulseNote): Promise<void> {
  if (current !== note) return
  if (!opened) {
    const factory = (await loaded)[reopen.factory] as (...given: readonly unknown[]) => Store
    const store = factory(...reopen.given)
    await store.open({ clock: systemClock, random: () => 0.5 })
    opened = store
  }
  // Of the node only its boot id counts: the record of its last own beat stays as it is.
  const node = { boot: current.boot, kinds: [], declares: {}, picks: false } as unknown as NodeInfo
  const { known } = await opened.beat({ node, claims: [], inFlight: [], long: [], phase: 'pulse' })
  if (!known && note === current) note = null
}

/** The process is back: its own connections do. */
async function close(): Promise<void> {
  const store = opened
  opened = null
  await store?.close().catch(() => {})
}
