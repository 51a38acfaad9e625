import { expect, it } from 'vitest'
import { concurrency, overlap } from '../../../src/testing/store-suite/keys.ts'
import { idsOf, memberRef, minute, type Scene } from '../../../src/testing/store-suite/scene.ts'
import { postgresScene } from '../../support/postgres-scene.ts'
import { recordStatements } from '../../support/statement-recorder.ts'

const { sent } = recordStatements()

/** How many statements an act takes that was done before: names are known then. */
async function counted(act: (scene: Scene) => Promise<void>, prepare: (scene: Scene) => Promise<void> = async () => {}) {
  const { scene } = await postgresScene()
  await scene.join()
  await prepare(scene)
  for (let i = 0; i < 2; i++) {
    await act(scene)
    // Freed slots are counted by a claim, which is the first of the next work.
    await scene.claim()
  }
  const before = sent.length
  await act(scene)
  return sent.slice(before).filter((text) => !text.includes('pg_notify($1, $2)')).length
}

async function run(scene: Scene): Promise<void> {
  const holding = await scene.claim()
  expect(holding.members).not.toEqual([])
  expect(
    await scene.settleAll(
      holding.members.map((_, i) => scene.settleItem(holding, 'completed', i)),
      [holding.claim],
    ),
  ).not.toContain('lost')
}

it('plain work takes 3 statements from its creation to its end', async () => {
  const act = async (scene: Scene) => {
    await scene.create()
    await run(scene)
  }
  expect(await counted(act)).toBe(3)
})

it('work with a key takes at most 4', async () => {
  const act = async (scene: Scene) => {
    await scene.create({ limits: concurrency(1) })
    await run(scene)
  }
  expect(await counted(act)).toBeLessThanOrEqual(4)
})

it('100 plain rows with a limited one among them take at most 4', async () => {
  const act = async (scene: Scene) => {
    await scene.createAll(Array.from({ length: 100 }, (_, i) => scene.row(i === 50 ? { limits: concurrency(1) } : {})))
    await run(scene)
  }
  expect(await counted(act)).toBeLessThanOrEqual(4)
})

it('a scheduled instant with the default overlap takes at most 6 with its planning', async () => {
  const act = async (scene: Scene) => {
    await scene.clock.advance(minute)
    await scene.beat()
    const before = sent.length
    const { jobs, pauseRevision } = await scene.store.jobsToPlan({ horizonMs: 0, limit: 10 })
    const job = jobs[0]?.job as NonNullable<(typeof jobs)[number]>['job']
    const row = scene.planRow(job, scene.now, { limits: overlap('skip') })
    await scene.store.plan([scene.planOf(job, [], { rows: [row], through: scene.now, pauseRevision })])
    await run(scene)
    steps = sent.length - before
  }
  let steps = 0
  await counted(act, async (scene) => void (await scene.putJob()))
  expect(steps).toBeLessThanOrEqual(6)
})

it('work that is retried once takes at most 7', async () => {
  const act = async (scene: Scene) => {
    await scene.create()
    const holding = await scene.claim()
    expect(await scene.settle(holding, 'parked')).toBe('ok')
    await run(scene)
  }
  expect(await counted(act)).toBeLessThanOrEqual(7)
})

it('a cancel of running work takes at most 9 with the beat that brings it to its node', async () => {
  const act = async (scene: Scene) => {
    const id = await scene.create()
    const holding = await scene.claim()
    expect(idsOf(holding)).toEqual([id])
    expect(await scene.store.cancel({ which: { id }, reason: null })).toMatchObject([{ outcome: 'canceling' }])
    expect((await scene.beat({ claims: [holding.claim.id] })).cancels).toHaveLength(1)
    expect(await scene.settle(holding, 'canceled')).toBe('ok')
  }
  expect(await counted(act)).toBeLessThanOrEqual(9)
})

it('an end and the next start are one commit', async () => {
  const act = async (scene: Scene) => {
    await scene.createAll([scene.row({ limits: concurrency(1) }), scene.row({ limits: concurrency(1) })])
    const first = await scene.claim()
    const next = scene.claimRequest()
    const before = sent.length
    const { claimed } = await scene.store.settle(
      [{ ...memberRef(first), end: scene.end('completed'), attempts: [], delayMs: 0 }],
      {
        done: [first.claim],
        claim: next,
      },
    )
    commits = sent.slice(before).filter((text) => text === 'COMMIT').length
    const [member] = claimed?.members ?? []
    expect(member).toBeDefined()
    const item = {
      claim: next,
      member: member as NonNullable<typeof member>,
      end: scene.end('completed'),
      attempts: [],
      delayMs: 0,
    }
    expect((await scene.store.settle([item], { done: [next] })).items).toEqual(['ok'])
  }
  let commits = 0
  await counted(act)
  expect(commits).toBe(1)
})

it('creation and start of plain work are one statement, and its end is the second', async () => {
  const act = async (scene: Scene) => {
    const request = scene.claimRequest()
    const { claimed } = await scene.store.create([scene.row(), scene.row()], { claim: request })
    expect(claimed?.members).toHaveLength(2)
    const items = (claimed?.members ?? []).map((member) => ({
      ...{ claim: request, member, end: scene.end('completed'), attempts: [], delayMs: 0 },
    }))
    expect((await scene.store.settle(items, { done: [request] })).items).toEqual(['ok', 'ok'])
  }
  expect(await counted(act)).toBe(2)
})

it('new work does not overtake older work, nor a limit, a pause or a node that is gone', async () => {
  const { scene } = await postgresScene()
  await scene.join()
  const created = async () => (await scene.store.create([scene.row()], { claim: scene.claimRequest() })).claimed
  expect((await created())?.members).toHaveLength(1)
  const older = await scene.create()
  expect(await created()).toBeNull()
  expect((await scene.claimedIds())[0]).toBe(older)
  await scene.create({ limits: concurrency(1) })
  expect(await created()).toBeNull()
  await scene.claim()
  expect((await created())?.members).toHaveLength(1)
  await scene.pause({ tenant: null, job: null })
  expect(await created()).toBeNull()
  await scene.pause({ tenant: null, job: null, open: null })
  await scene.claim()
  await scene.rescue({ gone: [] })
  expect((await created())?.members).toHaveLength(1)
  const request = scene.claimRequest({ node: 'nobody' })
  await expect(scene.store.create([scene.row()], { claim: request })).rejects.toMatchObject({ code: 'claim.lost' })
})

it('lists and counts of many jobs at the same moment take one statement for each list and a few for all', async () => {
  const { scene } = await postgresScene()
  await scene.join()
  const jobs = Array.from({ length: 30 }, (_, n) => ({ tenant: 'default', job: `job-${n}` }))
  await scene.createAll(jobs.map((of) => scene.row(of)))
  const ask = async () => {
    const before = sent.length
    const answers = await Promise.all([
      Promise.all(jobs.map((of) => scene.store.list({ ...of, limit: 20 }))),
      Promise.all(jobs.map((of) => scene.store.counts(of))),
    ])
    return { answers, count: sent.length - before }
  }
  await ask()
  const { answers, count } = await ask()
  const [pages, counts] = answers
  expect(pages.map(({ items }) => items.map(({ job }) => job))).toEqual(jobs.map(({ job }) => [job]))
  expect(counts.map(({ states }) => states.pending)).toEqual(jobs.map(() => 1))
  expect(count).toBeLessThanOrEqual(jobs.length + 7)
})

it('a process that starts again creates its first work by 5 statements', async () => {
  const { scene } = await postgresScene()
  await scene.join()
  await scene.create()
  const other = await scene.another()
  const before = sent.length
  await other.create([scene.row()])
  expect(sent.slice(before).filter((text) => !text.includes('pg_notify($1, $2)'))).toHaveLength(5)
})
