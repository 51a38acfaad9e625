import { roughly } from './duration.ts'
import { now } from './zone.ts'

/** How long the rest takes at the pace so far. */
export function leftText(startedAt: string | number, done: number): string {
  const spent = Math.max(0, now.value - (typeof startedAt === 'number' ? startedAt : Date.parse(startedAt)))
  return roughly(Math.max(1000, (spent / done) * (1 - done)))
}
