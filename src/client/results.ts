import { isTransient } from '../engine/node/transient.ts'
import { type ErrorCode, PunctualError, shown } from '../errors.ts'
import { restoredError } from '../model/error-record.ts'
import type { EventName } from '../model/events.ts'
import { isEnd, type OccurrenceState } from '../model/lifecycle.ts'
import { checkOptions } from '../model/limits.ts'
import type { OccurrenceHistory } from '../model/occurrence.ts'
import type { Which } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { parseDuration } from '../time/duration.ts'
import type { ClientEnv } from './client-env.ts'
import type { ResultOptions } from './handle.ts'
import { type OccurrenceTarget, shownTarget, unknownOccurrence, whichOf } from './occurrence-target.ts'
import type { Occurrence } from './occurrence-view.ts'
import type { Reads } from './reads.ts'

/** The wait before the store is read again: it doubles up to the longest, and a hint of the store begins it anew. */
const shortestMs = 50
const longestMs = 2000

const endEvents = [
  'occurrence.completed',
  'occurrence.failed',
  'occurrence.canceled',
  'occurrence.passed',
] as const satisfies readonly EventName[]

/** Waits for ends of occurrences: by the events of this process, else by reading the store again and again. */
export class Results {
  readonly #env: ClientEnv
  readonly #reads: Reads
  readonly #waiting = new Set<Waiter>()
  #unwatch: (() => void)[] = []

  constructor(env: ClientEnv, reads: Reads) {
    this.#env = env
    this.#reads = reads
  }

  async of(target: OccurrenceTarget, options: ResultOptions = {}): Promise<unknown> {
    checkOptions(options, ['timeout', 'signal'], 'options of result')
    const which = whichOf(target)
    const { timeout, signal } = options
    const timeoutMs = timeout === undefined ? null : parseDuration(timeout, 'timeout')
    if (signal !== undefined && !(signal instanceof AbortSignal))
      throw new PunctualError('option.invalid', `signal must be an AbortSignal; got ${shown(signal)}`, { field: 'signal' })
    signal?.throwIfAborted()
    const waiter = new Waiter(typeof target === 'string' ? target : null)
    const stopTimer = timeoutMs === null ? null : this.#env.clock.timer(timeoutMs, () => waiter.fail(timedOut(target, timeoutMs)))
    const abort = () => waiter.fail(signal?.reason)
    signal?.addEventListener('abort', abort, { once: true })
    this.#add(waiter)
    try {
      return await Promise.race([waiter.failed, this.#wait(waiter, which, target)])
    } finally {
      stopTimer?.()
      signal?.removeEventListener('abort', abort)
      this.#remove(waiter)
    }
  }

  /** Rejects all that wait. */
  close(): void {
    for (const waiter of this.#waiting)
      waiter.fail(new PunctualError('punctual.closed', 'This scheduler was closed; create a new one'))
  }

  async #wait(waiter: Waiter, which: Which, target: OccurrenceTarget): Promise<unknown> {
    let found = which
    for (let waitMs = shortestMs; !waiter.isOver; waitMs = Math.min(2 * waitMs, longestMs)) {
      const news = waiter.news()
      const history = await this.#read(found)
      if (history === null) throw unknownOccurrence(target)
      if (history) {
        const { id } = history.record
        if (isEnd(history.state) || history.state === 'dead') return resultOf(await this.#reads.view(history))
        // A key may pass to another occurrence: this call stays with the one it has found.
        found = { id }
        waiter.id = id
      }
      const stopPoll = this.#env.clock.poll(waitMs, () => waiter.wake('poll'))
      // Doubled below.
      if ((await news) === 'hint') waitMs = shortestMs / 2
      stopPoll()
    }
    return undefined
  }

  /** Undefined while the store does not answer. */
  async #read(which: Which): Promise<OccurrenceHistory | null | undefined> {
    try {
      await this.#env.store.open()
      this.#subscribe()
      return await this.#env.store.get(which)
    } catch (error) {
      if (isTransient(error)) return undefined
      throw error
    }
  }

  /** Events are watched only while a call waits: others would be made for no listener. */
  #add(waiter: Waiter): void {
    this.#waiting.add(waiter)
    if (this.#waiting.size > 1) return
    const { events } = this.#env
    const ended = ({ id }: { readonly id: string }) => {
      for (const one of this.#waiting) if (one.id === null || one.id === id) one.wake('event')
    }
    this.#unwatch = endEvents.map((name) => events.watch(name, ended))
  }

  /** Hints need an open store. */
  #subscribe(): void {
    if (this.#unwatch.length !== endEvents.length || this.#waiting.size === 0) return
    const { store, clock } = this.#env
    const hinted = () => {
      for (const one of this.#waiting) one.hint(clock)
    }
    this.#unwatch.push(store.hints.subscribe(hinted))
  }

  #remove(waiter: Waiter): void {
    this.#waiting.delete(waiter)
    waiter.end()
    if (this.#waiting.size > 0) return
    for (const unwatch of this.#unwatch) unwatch()
    this.#unwatch = []
  }
}

type News = 'event' | 'hint' | 'poll'

/** One call that waits for the end of an occurrence. */
class Waiter {
  /** Null until the occurrence of a key is found. */
  id: string | null
  isOver = false
  readonly #failed = Promise.withResolvers<never>()
  #news = Promise.withResolvers<News>()
  #stopHint: (() => void) | null = null

  constructor(id: string | null) {
    this.id = id
    this.#failed.promise.catch(() => {})
  }

  get failed(): Promise<never> {
    return this.#failed.promise
  }

  fail(reason: unknown): void {
    this.#failed.reject(reason)
  }

  /** Resolves at the next news from now on. */
  news(): Promise<News> {
    this.#news = Promise.withResolvers<News>()
    return this.#news.promise
  }

  wake(news: News): void {
    this.#news.resolve(news)
  }

  /** However many hints come, the store is read once in the shortest wait. */
  hint(clock: Clock): void {
    this.#stopHint ??= clock.poll(shortestMs, () => {
      this.#stopHint = null
      this.wake('hint')
    })
  }

  end(): void {
    this.isOver = true
    this.#stopHint?.()
    this.wake('poll')
  }
}

function timedOut(target: OccurrenceTarget, timeoutMs: number): PunctualError {
  return new PunctualError('result.timeout', `The ${shownTarget(target)} has not ended within ${timeoutMs} ms; it goes on`, {
    target,
    timeoutMs,
  })
}

const endCodes: Partial<Record<OccurrenceState, ErrorCode>> = {
  failed: 'occurrence.failed',
  dead: 'occurrence.dead',
  canceled: 'occurrence.canceled',
  skipped: 'occurrence.skipped',
  missed: 'occurrence.missed',
}

/** The result of an ended occurrence. Throws where it has none. */
function resultOf({ id, job, state, result, error, reason }: Occurrence): unknown {
  const code = endCodes[state]
  if (code === undefined) return result
  const why = reason ?? error?.message
  throw new PunctualError(
    code,
    `Occurrence ${id} of job ${JSON.stringify(job)} ended as ${state}${why ? `: ${why}` : ''}`,
    { id, job, state, reason },
    error ? { cause: restoredError(error) } : {},
  )
}
