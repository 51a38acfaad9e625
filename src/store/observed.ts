// The store as engine and client use it: it opens on first use, and every call can be measured in one place.
import { PunctualError } from '../errors.ts'
import type { Hints, Store, StoreEnv } from './store.ts'

/** One finished call to the store. */
export interface StoreCall {
  readonly verb: StoreVerb
  readonly durationMs: number
  /** Null when the call succeeded. */
  readonly error: unknown
}

/** A call with what was given and answered, for the parts of Punctual that count. */
export interface StoreExchange extends StoreCall {
  readonly given: readonly unknown[]
  /** Undefined when the call failed. */
  readonly answer: unknown
}

/** A verb of the store contract. */
export type StoreVerb = {
  [Name in keyof Store]-?: Store[Name] extends (...given: never[]) => Promise<unknown> ? Name : never
}[keyof Store]

/** Gets the calls, while `isActive`. */
export interface StoreObserver {
  readonly isActive: boolean
  note(call: StoreExchange): void
}

export interface ObservedStore extends Store {
  readonly isOpen: boolean
  open(): Promise<void>
}

/** Each verb once, so the compiler finds a missing one. */
const named: Readonly<Record<Exclude<StoreVerb, 'open' | 'close'>, true>> = {
  putJob: true,
  readJobs: true,
  readVersions: true,
  pause: true,
  readPauses: true,
  jobsToPlan: true,
  plan: true,
  create: true,
  peek: true,
  backlog: true,
  claim: true,
  checkpoint: true,
  settle: true,
  cancel: true,
  move: true,
  gate: true,
  listAudit: true,
  beat: true,
  rescue: true,
  prune: true,
  get: true,
  list: true,
  listRanges: true,
  counts: true,
  listDue: true,
  figures: true,
  tokens: true,
  nodes: true,
}
const verbs = Object.keys(named) as readonly (keyof typeof named)[]

/**
 * Wraps a store. Each verb opens it if necessary: once for all callers, and again after a failure. After `close` every verb throws
 * `punctual.closed`.
 */
export function observed(store: Store, env: StoreEnv, observer: StoreObserver): ObservedStore {
  const door = new Door(store, env, observer)
  const around = (verb: (typeof verbs)[number]) => (first: unknown, second: unknown) => {
    const call = () => (store[verb] as (...given: unknown[]) => Promise<unknown>)(first, second)
    const measured = () => (observer.isActive ? door.measured(verb, [first, second], call) : call())
    return door.isOpen ? measured() : door.open().then(measured)
  }
  return Object.defineProperties(Object.fromEntries(verbs.map((verb) => [verb, around(verb)])), {
    ...given(store, ['name', 'abilities', 'batchLimit', 'reopen']),
    ...given(door, ['isOpen', 'hints']),
    open: { value: () => door.open() },
    close: { value: () => door.close() },
  }) as unknown as ObservedStore
}

class Door {
  readonly hints: Hints
  readonly #store: Store
  readonly #env: StoreEnv
  readonly #observer: StoreObserver
  #opening: Promise<void> | null = null
  #phase: 'new' | 'open' | 'closed' = 'new'

  constructor(store: Store, env: StoreEnv, observer: StoreObserver) {
    this.#store = store
    this.#env = env
    this.#observer = observer
    this.hints = {
      subscribe: (listener) => store.hints.subscribe(listener),
      wake: () => this.open().then(() => store.hints.wake()),
      get isLive() {
        return store.hints.isLive
      },
    }
  }

  get isOpen(): boolean {
    return this.#phase === 'open'
  }

  open(): Promise<void> {
    if (this.#phase === 'closed')
      return Promise.reject(new PunctualError('punctual.closed', 'This scheduler was closed; create a new one'))
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<void> {
    try {
      await this.measured('open', [], () => this.#store.open(this.#env))
      if (this.#phase === 'new') this.#phase = 'open'
    } catch (error) {
      this.#opening = null
      throw error
    }
  }

  async close(): Promise<void> {
    const wasOpen = this.isOpen
    this.#phase = 'closed'
    if (wasOpen) await this.#store.close()
  }

  async measured<Answer>(verb: StoreVerb, given: readonly unknown[], call: () => Promise<Answer>): Promise<Answer> {
    const { clock } = this.#env
    const since = clock.mono()
    const note = (error: unknown, answer?: Answer) => {
      if (this.#observer.isActive) this.#observer.note({ verb, durationMs: clock.mono() - since, error, given, answer })
    }
    try {
      const answer = await call()
      note(null, answer)
      return answer
    } catch (error) {
      note(error)
      throw error
    }
  }
}

/** Read anew at every access: a store may find its limits when it opens. */
function given<Source>(source: Source, names: readonly (keyof Source & string)[]): PropertyDescriptorMap {
  return Object.fromEntries(names.map((name) => [name, { get: () => source[name], enumerable: true }]))
}
