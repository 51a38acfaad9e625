import { PunctualError } from '../../src/errors.ts'
import type { Store, StoreEnv } from '../../src/store/store.ts'
import type { Clock } from '../../src/time/clock.ts'

/** The verbs of the contract that cross to the store. */
type Verb = Exclude<keyof Store, 'name' | 'abilities' | 'batchLimit' | 'isHearing' | 'subscribe'>

/** A store between an engine and the real one, which can be taken away from that engine alone. */
export interface FaultyStore extends Store {
  /** Every call fails as unreachable, until `heal`. */
  cut(): void
  /** Calls wait until `heal`, then go through: a process that was blocked, or a network that held packets back. */
  stall(): void
  /** As `stall`, and answers wait too: the event loop of this process is blocked. */
  block(): void
  heal(): void
  /** No call is ever answered, and none reaches the store: what a process that was killed looks like from outside. */
  freeze(): void
  /** The next `times` calls of `verb` take effect, and fail all the same. */
  loseAnswer(verb: Verb, times?: number): void
  /** Calls of `verb` that `where` finds are refused for good, which no waiting mends. */
  refuse(verb: Verb, where: (...given: never[]) => boolean): void
  /** The next call of `verb` is held until the returned function lets it through to the store. */
  hold(verb: Verb): () => void
  /** The next call of `verb` takes effect, and its answer is held until the returned function lets it through. */
  holdAnswer(verb: Verb): () => void
  /** How often `verb` was called. */
  calls(verb: Verb): number
}

/** `clock` is that of the store, where it differs from the one that the node has. */
export function faultyStore(store: Store, clock?: Clock): FaultyStore {
  const counts = new Map<PropertyKey, number>()
  const lost = new Map<PropertyKey, number>()
  const held = new Map<PropertyKey, Promise<void>>()
  const heldAnswers = new Map<PropertyKey, Promise<void>>()
  const refused = new Map<PropertyKey, (...given: never[]) => boolean>()
  let state: 'well' | 'cut' | 'frozen' = 'well'
  let stalled: PromiseWithResolvers<void> | null = null
  let blocked: PromiseWithResolvers<void> | null = null

  const call = async (verb: PropertyKey, given: unknown[], forward: () => Promise<unknown>): Promise<unknown> => {
    counts.set(verb, (counts.get(verb) ?? 0) + 1)
    const letThrough = held.get(verb)
    held.delete(verb)
    await letThrough
    await stalled?.promise
    await blocked?.promise
    if (state === 'frozen') return new Promise(() => {})
    if (state === 'cut') throw unreachable('was cut')
    if (refused.get(verb)?.(...(given as never[]))) throw new Error(`${String(verb)} was refused`)
    const answer = await forward()
    const answerThrough = heldAnswers.get(verb)
    heldAnswers.delete(verb)
    await answerThrough
    await blocked?.promise
    if ((state as typeof state | 'frozen') === 'frozen') return new Promise(() => {})
    const left = lost.get(verb) ?? 0
    if (left === 0) return answer
    lost.set(verb, left - 1)
    throw unreachable('went away before it could answer')
  }

  const faults = {
    cut() {
      state = 'cut'
    },
    stall() {
      stalled ??= Promise.withResolvers()
    },
    block() {
      blocked ??= Promise.withResolvers()
    },
    heal() {
      state = 'well'
      stalled?.resolve()
      stalled = null
      blocked?.resolve()
      blocked = null
    },
    freeze() {
      state = 'frozen'
    },
    loseAnswer: (verb: Verb, times = 1) => void lost.set(verb, times),
    refuse: (verb: Verb, where: (...given: never[]) => boolean) => void refused.set(verb, where),
    hold: (verb: Verb) => gate(held, verb),
    holdAnswer: (verb: Verb) => gate(heldAnswers, verb),
    calls: (verb: Verb) => counts.get(verb) ?? 0,
  }

  return new Proxy(store, {
    get(target, name) {
      if (Object.hasOwn(faults, name)) return faults[name as keyof typeof faults]
      const value = target[name as keyof Store]
      if (typeof value !== 'function') return value
      if (name === 'subscribe') return value.bind(target)
      if (name === 'open' && clock) return (env: StoreEnv) => call(name, [env], () => target.open({ ...env, clock }))
      return (...given: unknown[]) =>
        call(name, given, () => (value as (...args: unknown[]) => Promise<unknown>).apply(target, given))
    },
  }) as FaultyStore
}

function gate(gates: Map<PropertyKey, Promise<void>>, verb: Verb): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  gates.set(verb, promise)
  return resolve
}

function unreachable(what: string): PunctualError {
  return new PunctualError('store.unreachable', `The store ${what}`, {})
}
