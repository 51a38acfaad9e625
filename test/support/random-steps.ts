import fc from 'fast-check'
import type { Store, StoreEnv } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { compareWithMemory } from '../../src/testing/store-suite/model.ts'
import { type Step, stepVerbs } from '../../src/testing/store-suite/model-step.ts'

const number = fc.nat(1_000_000)
const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom(...stepVerbs),
  a: number,
  b: number,
  c: number,
})

/** Compares a store with the memory store under random steps; what differs is shrunk to the fewest steps that show it. */
export async function checkRandomSteps(
  open: (env: StoreEnv, place: string) => Promise<Store>,
  { runs }: { runs: number },
): Promise<void> {
  let places = 0
  const agree = async (steps: readonly Step[]) => {
    const clock = manualClock()
    const store = await open({ clock, random: () => 0 }, `random-${++places}`)
    try {
      await compareWithMemory({ store, clock }, steps)
    } finally {
      await store.close()
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), agree), { numRuns: runs, endOnFailure: false })
}
