import { expect, it } from 'vitest'
import type { Occurrence } from '../../src/client/occurrence-view.ts'
import type { Punctual } from '../../src/client/punctual.ts'
import { allOccurrences } from '../support/cluster.ts'
import { onEachSeed } from '../support/seeds.ts'
import { Siege } from '../support/siege.ts'

// `STORE=memory SEEDS=2000 npm test -- test/chaos/nemesis.test.ts` is a long run.
const shares = { memory: 1, sqlite: 1 / 8, postgres: 1 / 40 }

onEachSeed('a cluster under cuts, crashes, restarts, canaries and lost answers', { few: 8, shares }, (newDatabase, seeds) => {
  it.each(seeds)('keeps every promise (seed %i)', async (seed) => {
    const siege = new Siege(seed, newDatabase())
    await siege.run(120)
    const { punctual } = await siege.calm()
    expect(siege.faults).toEqual([])
    for (const found of await allOccurrences(punctual)) {
      siege.created.delete(found.id)
      if (isRecentTick(found, siege)) continue
      expect(endingsOf(found)).toContain(found.state)
      if (found.state === 'completed') expectSucceededOnce(found)
      if (found.job === 'paid' && found.state === 'completed') expect(siege.charges.chargesOf(found.id)).toEqual([found.result])
      if (found.job === 'family') await expectTwoChildren(punctual, found)
      if (found.job === 'hooked') expect(siege.heard).toContain(found.id)
    }
    expect([...siege.created]).toEqual([])
  })
})

/** Schedules go on while all other work ends. */
function isRecentTick({ job, scheduledAt }: Occurrence, { cluster }: Siege): boolean {
  return (job === 'tick' || job === 'cron') && scheduledAt.getTime() > cluster.clock.wall() - 150_000
}

/** The states in which an occurrence may have ended. */
function endingsOf({ job, turns }: Occurrence): readonly string[] {
  const losses = turns.filter((turn) => turn.end === 'lost' || turn.reason === 'lost').length
  const isBuried = losses === 3 || job === 'hooked'
  return [
    'completed',
    'canceled',
    ...(isBuried ? ['dead', 'failed'] : []),
    ...(job === 'cron' || job === 'tick' ? ['skipped', 'failed'] : []),
  ]
}

function expectSucceededOnce({ turns, tasks }: Occurrence): void {
  expect(turns.filter((turn) => turn.end === 'completed')).toHaveLength(1)
  for (const { attempts, retired } of tasks) {
    // A canary's task that no attempt was made of is no longer part of the work once the canary is gone.
    if (retired && attempts.length === 0) continue
    expect(attempts.filter((attempt) => attempt.state === 'succeeded')).toHaveLength(1)
    expect(attempts.at(-1)?.state).toBe('succeeded')
  }
}

/** However often its handler asked for them; work that was canceled may have come to fewer. */
async function expectTwoChildren(punctual: Punctual, { id, state }: Occurrence): Promise<void> {
  const { length } = (await punctual.list({ parent: id })).items
  if (state === 'completed') expect(length).toBe(2)
  else expect(length).toBeLessThanOrEqual(2)
}
