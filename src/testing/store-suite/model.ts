// The store under test and the memory store do the same random steps side by side: every answer and every read must agree.
import assert from 'node:assert/strict'
import { MemoryStore } from '../../store/memory/memory-store.ts'
import { dump } from './dump.ts'
import { randomStep, type Step, stepVerbs } from './model-step.ts'
import { ModelWorld } from './model-world.ts'
import type { Scene } from './scene.ts'
import { seededRandom } from './seeded-random.ts'
import { topic } from './topic.ts'

const seeds = 25
const stepsPerSeed = 80

export const modelCases = topic(
  'model',
  Object.fromEntries(
    Array.from({ length: seeds }, (_, i) => [
      `random steps of seed ${i + 1} bring the same answers and the same state as the memory store`,
      (scene: Scene) => {
        const random = seededRandom(i + 1)
        return compareWithMemory(
          scene,
          Array.from({ length: stepsPerSeed }, () => randomStep(random)),
        )
      },
    ]),
  ),
)

/** Does the steps on the scene's store and on a memory store, and compares all that both say and show. */
export async function compareWithMemory(scene: Pick<Scene, 'store' | 'clock'>, steps: readonly Step[]): Promise<void> {
  const reference = new MemoryStore()
  await reference.open({ clock: scene.clock, random: () => 0 })
  const world = new ModelWorld(scene.store, reference, scene.clock)
  const done: Step[] = []
  for (const step of steps) {
    done.push(step)
    try {
      await stepVerbs[step.verb](world, step)
      assert.deepEqual(await dump(scene.store), await dump(reference))
    } catch (error) {
      throw new Error(`The stores differ after step ${done.length}, ${JSON.stringify(step)}: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
}
