// The store under test and the memory store do the same random steps side by side: every answer and every read must agree.
import assert from 'node:assert/strict'
import { isEnd, type OccurrenceState, occurrenceMoves, occurrenceStates } from '../../model/lifecycle.ts'
import { MemoryStore } from '../../store/memory/memory-store.ts'
import { dump, type Outline, outline } from './dump.ts'
import { randomStep, type Step } from './model-step.ts'
import { doStep } from './model-verbs.ts'
import { ModelWorld } from './model-world.ts'
import type { Scene } from './scene.ts'
import { seededRandom } from './seeded-random.ts'
import { topic } from './topic.ts'

const seeds = 25
const stepsPerSeed = 80
/** Lists, counts and the like are compared after each step; whole histories, which take most of the time, after so many. */
const stepsPerDump = 8

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
  let states: ReadonlyMap<string, OccurrenceState> = new Map()
  for (const step of steps) {
    done.push(step)
    try {
      await doStep[step.verb](world, step)
      const isWhole = done.length % stepsPerDump === 0 || done.length === steps.length
      const read = isWhole ? dump : outline
      const shown = await read(reference)
      assert.deepEqual(await read(scene.store), shown)
      checkCounts(shown)
      states = checkMoves(states, shown)
    } catch (error) {
      throw new Error(`The stores differ after step ${done.length}, ${JSON.stringify(step)}: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
}

/** Counts are stored separately, so they are compared with a recount. */
function checkCounts({ list, counts, ranges }: Outline): void {
  for (const state of occurrenceStates) {
    const passed = ranges.reduce((sum, range) => sum + (range.state === state ? range.count : 0), 0)
    assert.equal(counts.states[state], list.filter((item) => item.state === state).length + passed, `the count of ${state}`)
  }
}

/** One step is one act, or an end and a claim, so an occurrence has made at most two moves of the table; only ended work may be gone. */
function checkMoves(before: ReadonlyMap<string, OccurrenceState>, { list }: Outline): ReadonlyMap<string, OccurrenceState> {
  const after = new Map(list.map(({ id, state }) => [id, state]))
  for (const [id, from] of before) {
    const to = after.get(id)
    const isLegal =
      to === undefined ? isEnd(from) || from === 'pending' || from === 'waiting' : to === from || isReached(from, to)
    assert.ok(isLegal, `${id} went from ${from} to ${to ?? 'nowhere'}`)
  }
  return after
}

function isReached(from: OccurrenceState, to: OccurrenceState): boolean {
  return occurrenceMoves[from].some((next) => next === to || occurrenceMoves[next].includes(to))
}
