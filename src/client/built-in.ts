// The way in for parts of Punctual that bring a built-in job with them: they see the job's own records, and no store.
import { builtInPrefix } from '../engine/node/registry.ts'
import type { Logger } from '../model/context.ts'
import type { AnyDefinition } from '../model/definition.ts'
import type { Source } from '../model/lifecycle.ts'
import type { CreatedRow } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { ClientEnv } from './client-env.ts'
import type { Creations } from './creations.ts'
import { type EnqueueOptions, newOccurrence } from './new-occurrence.ts'
import type { Punctual } from './punctual.ts'

/** The use that a built-in job has of its scheduler. */
export interface BuiltIn {
  readonly clock: Clock
  readonly log: Logger
  /** The store's time, as far as this process knows it. */
  now(): number
  /** Creates work of the job. Calls of the same moment share one call to the store. */
  enqueue(payload: unknown, options: Omit<EnqueueOptions, 'tx'>): Promise<CreatedRow>
  /** Lets each beat of this node carry a state that `state` returns, under a name; null takes it out again. */
  report(name: string, state: (() => unknown) | null): void
  /** Claims none of the job's work, which stays due, until `unhold`. */
  hold(): void
  unhold(): void
}

interface Means {
  readonly env: ClientEnv & { readonly log: Logger }
  readonly creations: Creations
  /** Announces that other work may be claimed than before. */
  readonly changed: () => void
}

const means = new WeakMap<Punctual, Means>()

/** Called by a scheduler that is made. */
export function allowBuiltIns(punctual: Punctual, own: Means): void {
  means.set(punctual, own)
}

/** Adds a built-in job to a scheduler. `canRun`: this process also runs it. */
export function builtIn(
  punctual: Punctual,
  definition: AnyDefinition,
  { source = 'deferred', canRun = true }: { source?: Source; canRun?: boolean } = {},
): BuiltIn {
  const { env, creations, changed } = means.get(punctual) as Means
  const { name } = definition
  if (!name.startsWith(builtInPrefix)) throw new TypeError(`${name} is not the name of a built-in job`)
  if (canRun) {
    env.registry.defineBuiltIn(definition)
    changed()
  }
  return {
    clock: env.clock,
    log: env.log,
    now: () => env.time.now(),
    enqueue: async (payload, options) => {
      const row = await newOccurrence(env, { ...options, job: definition, payload }, { source, definition: name })
      return creations.add(row)
    },
    report: (part, state) => void (state ? env.parts.set(part, state) : env.parts.delete(part)),
    hold: () => env.registry.hold(name),
    unhold: () => {
      env.registry.unhold(name)
      env.events.emit('signal.kinds', null)
    },
  }
}
