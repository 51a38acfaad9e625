import { it } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { compareWithMemory } from '../../src/testing/store-suite/model.ts'
import { randomStep } from '../../src/testing/store-suite/model-step.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { onEachSeed } from '../support/seeds.ts'

// The suite of each store has seeds 1 to 25; here are others. `STORE=postgres SEED=1000 SEEDS=500` is a long run.
const shares = { sqlite: 1, postgres: 1 }

onEachSeed('beside the memory store', { few: 2, from: 101, shares }, (newDatabase, seeds) => {
  it.each(seeds)('random steps bring the same answers and the same state (seed %i)', async (seed) => {
    const clock = manualClock()
    const random = seededRandom(seed)
    const store = newDatabase()()
    await store.open({ clock, random: () => 0 })
    await compareWithMemory(
      { store, clock },
      Array.from({ length: 80 }, () => randomStep(random)),
    )
  })
})
