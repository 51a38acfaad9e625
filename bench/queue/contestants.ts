import type { Contestant } from '../harness/contestant.ts'
import { plainjob } from './plainjob.ts'
import { punctual } from './punctual.ts'

/** Measured in this order. The last is what the others are compared with. */
export const contestants: readonly Contestant[] = [
  punctual('memory'),
  punctual('sqlite normal'),
  punctual('sqlite full'),
  plainjob,
]
