import { randomFillSync, randomInt } from 'node:crypto'

const pool = Buffer.alloc(8192)
let used = pool.length

/** Random bytes out of a pool: asking the system for each id would cost more than writing it. */
export function randomBytes(count: number): Uint8Array {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

/** From 0 to below 1. */
export function random(): number {
  return randomInt(2 ** 32) / 2 ** 32
}
