import { randomBytes } from 'node:crypto'
import type { ClientEnv } from '../../client/client-env.ts'
import { type Figure, figureCounts, figureSpreads, sumFigures } from '../../model/figure.ts'
import type { OccurrenceState } from '../../model/lifecycle.ts'
import type { FigureRow } from '../../store/store.ts'
import { iso } from '../board/line.ts'
import type { WireChange } from '../wire.ts'

const lookMs = 1000
const mostJobs = 100
const mostOccurrences = 200
const keptMessages = 300
/** How far back each look at other nodes' figures goes: they arrive with beats. */
const overlapMs = 60_000

/** One message, for all listeners. */
export interface Message {
  readonly id: number
  readonly change: WireChange
  /** There were too many changes to name: read everything again. */
  readonly isLag: boolean
}

type Listener = (message: Message) => void
type JobRef = WireChange['jobs'][number]
type Line = WireChange['occurrences'][number]

/**
 * Changes on all nodes. This process's own come from its events; those of others from what the store counts, looked at once a second
 * for all listeners together, and not at all without one. Messages are hints: lists are the truth.
 */
export class Changes {
  readonly #env: ClientEnv
  readonly #listeners = new Set<Listener>()
  readonly #run = randomBytes(6).toString('base64url')
  #kept: Message[] = []
  #stop: (() => void)[] = []
  #jobs = new Map<string, JobRef>()
  #lines = new Map<string, Line>()
  #isTooMuch = false
  #counts = ''
  #nodes = ''
  /** The number of events by tenant, job and minute at the last look; null before the first. */
  #seen: Map<string, number> | null = null
  #lastId = 0
  #timer: NodeJS.Timeout | null = null

  constructor(env: ClientEnv) {
    this.#env = env
  }

  get listeners(): number {
    return this.#listeners.size
  }

  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener)
    if (this.#listeners.size === 1) this.#begin()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#end()
    }
  }

  /** The id of a message for clients. Another process counts apart, so its ids must not be taken for those of this one. */
  idText(id: number): string {
    return `${this.#run}-${id}`
  }

  /** The messages after an id; null when some of them are no longer kept, or the id is of another process. */
  since(text: string): readonly Message[] | null {
    const [, run, digits] = /^([\w-]+)-(\d{1,15})$/.exec(text) ?? []
    const id = Number(digits)
    const first = this.#kept[0]?.id ?? this.#lastId + 1
    if (run !== this.#run || id > this.#lastId || id < first - 1) return null
    return this.#kept.filter((message) => message.id > id)
  }

  #begin(): void {
    const { events } = this.#env
    const note = (tenant: string, job: string, line?: { id: string; state: OccurrenceState }) => this.#note(tenant, job, line)
    this.#stop = [
      events.watch('occurrence.created', ({ tenant, job, id }) => note(tenant, job, { id, state: 'pending' })),
      events.watch('occurrence.started', ({ tenant, job, id }) => note(tenant, job, { id, state: 'running' })),
      events.watch('occurrence.completed', ({ tenant, job, id }) => note(tenant, job, { id, state: 'completed' })),
      events.watch('occurrence.failed', ({ tenant, job, id, state }) => note(tenant, job, { id, state })),
      events.watch('occurrence.retrying', ({ tenant, job, id }) => note(tenant, job, { id, state: 'retrying' })),
      events.watch('occurrence.canceled', ({ tenant, job, id }) => note(tenant, job, { id, state: 'canceled' })),
      events.watch('occurrence.passed', ({ tenant, job, id, state }) => note(tenant, job, { id, state })),
      events.watch('job.planned', ({ tenant, job }) => note(tenant, job)),
      events.watch('job.updated', ({ tenant, job }) => note(tenant, job)),
      events.watch('job.paused', ({ tenant, job }) => note(tenant ?? '', job ?? '')),
      events.watch('job.resumed', ({ tenant, job }) => note(tenant ?? '', job ?? '')),
    ]
    this.#look()
  }

  #end(): void {
    for (const stop of this.#stop) stop()
    this.#stop = []
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    // Nothing is noted until the next listener comes: no earlier message leads on to what it will get.
    this.#kept = []
    this.#seen = null
    this.#lastId += 1
  }

  #note(tenant: string, job: string, line?: { id: string; state: OccurrenceState }): void {
    const key = `${tenant}\n${job}`
    if (this.#jobs.has(key) || this.#jobs.size < mostJobs) this.#jobs.set(key, { tenant, name: job })
    else this.#isTooMuch = true
    if (!line) return
    if (this.#lines.has(line.id) || this.#lines.size < mostOccurrences) this.#lines.set(line.id, { ...line, tenant, job })
    else this.#isTooMuch = true
  }

  #look(): void {
    this.#timer = setTimeout(() => {
      void this.#lookOnce().finally(() => {
        if (this.#listeners.size > 0) this.#look()
      })
    }, lookMs)
    this.#timer.unref()
  }

  /** A store that is away brings no message: listeners see by the missing heartbeat of changes that nothing new is known. */
  async #lookOnce(): Promise<void> {
    try {
      const { store } = this.#env
      const [{ states }, { now, nodes }] = await Promise.all([store.counts({}), store.nodes()])
      const figures = await store.figures({ byJob: true, from: now - overlapMs, to: now + 1, limit: 1000 })
      this.#compare(figures)
      const nodesText = nodes.map(({ boot, running, concurrency }) => `${boot} ${running} ${concurrency}`).join()
      const countsText = JSON.stringify(states)
      const hasChanged = countsText !== this.#counts || nodesText !== this.#nodes || this.#jobs.size > 0
      const areNodes = nodesText !== this.#nodes && this.#nodes !== ''
      const isFirst = this.#counts === ''
      // Counts that changed without a known job are changes that another process made.
      if (countsText !== this.#counts && !isFirst && this.#jobs.size === 0) this.#note('', '')
      this.#counts = countsText
      this.#nodes = nodesText
      if (hasChanged) this.#send(now, states, areNodes)
    } catch {}
  }

  /** Nodes add several rows for the same minute, which the store sums up later: only their sum shows whether there is more. */
  #compare(figures: readonly FigureRow[]): void {
    const known = this.#seen
    this.#seen = new Map()
    for (const [key, rows] of Map.groupBy(figures, ({ tenant, job, at }) => `${tenant}\n${job}\n${at}`)) {
      const [{ tenant, job }] = rows as [FigureRow]
      const count = eventsIn(sumFigures(rows.map(({ figure }) => figure)))
      this.#seen.set(key, count)
      if (known && known.get(key) !== count) this.#note(tenant, job)
    }
  }

  #send(now: number, counts: Readonly<Record<string, number>>, nodes: boolean): void {
    const message: Message = {
      id: ++this.#lastId,
      isLag: this.#isTooMuch,
      change: {
        at: iso(now),
        jobs: [...this.#jobs.values()],
        occurrences: [...this.#lines.values()],
        nodes,
        counts: { ...counts },
      },
    }
    this.#jobs = new Map()
    this.#lines = new Map()
    this.#isTooMuch = false
    this.#kept.push(message)
    if (this.#kept.length > keptMessages) this.#kept.shift()
    for (const listener of this.#listeners) listener(message)
  }
}

/** How many starts, ends and failed attempts a figure has counted. */
function eventsIn(figure: Figure): number {
  const ends = figureCounts.reduce((sum, name) => sum + (figure[name] ?? 0), 0)
  const spreads = figureSpreads.flatMap((name) => Object.values(figure[name] ?? {}))
  return spreads.reduce((sum, count) => sum + count, ends)
}
