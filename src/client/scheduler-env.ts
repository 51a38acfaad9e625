import type { ClientEnv } from './client-env.ts'
import type { Punctual } from './punctual.ts'

const environments = new WeakMap<Punctual, ClientEnv>()

export function keepSchedulerEnv(punctual: Punctual, env: ClientEnv): void {
  environments.set(punctual, env)
}

/** The environment of a scheduler, for parts of Punctual that need more than the public API. */
export function schedulerEnv(punctual: Punctual): ClientEnv {
  const env = environments.get(punctual)
  if (env) return env
  throw new TypeError('punctual must be made by createPunctual')
}
