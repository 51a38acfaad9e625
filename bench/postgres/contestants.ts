import type { Contestant } from '../harness/contestant.ts'
import { graphileWorker } from './graphile-worker.ts'
import { pgBoss } from './pg-boss.ts'
import { punctual } from './punctual.ts'

const patient = graphileWorker()
/** Its best at jobs that come due later, at the price of its peace while idle; shorter polls take more and give little. */
const eager = graphileWorker(20)
const notifying = pgBoss({ notify: true })
/** Its best at enqueuing. */
const silent = pgBoss({ notify: false })

export const contestants: readonly Contestant[] = [punctual, patient, eager, notifying, silent]

/** The contestants of each table: a peer with several set-ups takes part with each that is best at something. */
export const entries = {
  drain: [punctual, patient, notifying],
  keys: [punctual, patient],
  pickup: [punctual, patient, notifying],
  lateness: [punctual, eager, patient, notifying],
  enqueue: [punctual, patient, notifying, silent],
  loaded: [punctual],
  idle: [punctual, patient, eager, notifying],
} satisfies Record<string, readonly Contestant[]>

export function isPeer(contestant: Contestant): boolean {
  return contestant !== punctual
}
