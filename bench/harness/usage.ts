import type { Contestant } from './contestant.ts'
import { cpuMicros } from './moment.ts'

/** CPU time in microseconds: of this process, and of the server that holds the place, where there is one. */
export interface Usage {
  readonly own: number
  readonly server: number
}

/** Begins to count; each call returns the use since then. */
export function startMeter(contestant: Contestant): () => Usage {
  const read = () => ({ own: cpuMicros(), server: contestant.serverMicros?.() ?? 0 })
  const before = read()
  return () => {
    const { own, server } = read()
    return { own: own - before.own, server: server - before.server }
  }
}

/** Of several workers at the same time: each has counted the whole server, the one that worked longest most of it. */
export function together(usages: readonly Usage[]): Usage {
  return {
    own: usages.reduce((sum, { own }) => sum + own, 0),
    server: Math.max(...usages.map(({ server }) => server)),
  }
}
