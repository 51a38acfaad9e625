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
    const last = await siege.calm()
    expect(siege.faults).toEqual([])
    const booked = await siege.booked(last)
    const named = new Map<string, string>()
    for (const found of await allOccurrences(last.punctual)) {
      siege.created.delete(found.id)
      if (isRecentTick(found, siege)) continue
      expect(endingsOf(found), shown(found)).toContain(found.state)
      expect(siege.jobs.resultFaults(found)).toEqual([])
      if (found.state === 'completed') expectSucceededOnce(found)
      if (booked && found.job === 'booked') expectBooked(found, booked)
      if (found.job === 'paid' && found.state === 'completed')
        expect(siege.jobs.charges.chargesOf(found.id)).toEqual([found.result])
      if (found.job === 'family') await expectTwoChildren(last.punctual, found)
      if (found.job === 'hooked') expect(siege.jobs.heard).toContain(found.id)
      if (found.idempotencyKey !== null && found.state !== 'canceled') {
        const name = `${found.tenant} ${found.job} ${found.idempotencyKey}`
        expect(named.get(name), name).toBeUndefined()
        named.set(name, found.id)
      }
    }
    expect([...siege.created]).toEqual([])
  })
})

/** Schedules go on while all other work ends. */
function isRecentTick({ job, scheduledAt }: Occurrence, { cluster }: Siege): boolean {
  return isScheduled(job) && scheduledAt.getTime() > cluster.clock.wall() - 150_000
}

function isScheduled(job: string): boolean {
  return job === 'tick' || job === 'cron' || job === 'rota'
}

/** The states in which an occurrence may have ended. */
function endingsOf({ job, turns }: Occurrence): readonly string[] {
  // A turn past its deadline counts as a loss, too.
  const losses = turns.flatMap(({ end, reason }) => [end, reason]).filter((one) => one === 'lost' || one === 'stale').length
  const isBuried = losses >= 3 || job === 'hooked'
  return [
    'completed',
    'canceled',
    ...(isBuried ? ['dead', 'failed'] : []),
    ...(isScheduled(job) ? ['skipped', 'failed'] : []),
    ...(job === 'prompt' ? ['missed'] : []),
  ]
}

/** The row is there if, and only if, its task has succeeded. */
function expectBooked({ id, tasks }: Occurrence, booked: readonly string[]): void {
  const succeeded = tasks.flatMap(({ attempts }) => attempts).filter(({ state }) => state === 'succeeded')
  expect(booked.filter((one) => one === id)).toHaveLength(succeeded.length)
  expect(succeeded.length).toBeLessThanOrEqual(1)
}

/** The history behind a fault. */
function shown({ job, state, turns, error }: Occurrence): string {
  return `${job} is ${state}: ${JSON.stringify({ turns, error })}`
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
