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

export function contestantNamed(name: string): Contestant {
  const found = contestants.find((contestant) => contestant.name === name)
  if (!found) throw new Error(`There is no contestant ${name}`)
  return found
}
