// Keys that occurrences contend for.
import type { Limit } from '../../model/limit.ts'
import type { OverlapPolicy } from '../../model/overlap.ts'
import type { NewOccurrence } from '../../store/store.ts'
import type { Scene } from './scene.ts'

export function overlap(policy: Exclude<OverlapPolicy, 'allow'>, name = 'a'): readonly Limit[] {
  return [{ kind: 'overlap', key: `overlap-${name}`, limit: 1, policy }]
}

export function concurrency(limit: number, name = 'a'): readonly Limit[] {
  return [{ kind: 'concurrency', key: `concurrency-${name}`, limit }]
}

export function rate(limit: number, perMs: number): readonly Limit[] {
  return [{ kind: 'rate', key: 'rate-a', limit, perMs }]
}

/** New occurrences that are due, in order. */
export async function createEach(scene: Scene, count: number, over: Partial<NewOccurrence>): Promise<readonly string[]> {
  const ids = []
  for (let i = 0; i < count; i++) ids.push(await scene.create({ ...over, due: scene.now - 10 + i }))
  return ids
}
