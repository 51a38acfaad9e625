// How SQLite goes about each verb: no statement may walk a table that grows, nor sort one, however few rows a test has.
import { DatabaseSync } from 'node:sqlite'
import { expect, it, vi } from 'vitest'
import { occurrenceStates } from '../../../src/model/lifecycle.ts'
import type { Holding, Scene } from '../../../src/testing/store-suite/scene.ts'
import { databasePath } from '../../support/database-path.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

type Act = (scene: Scene) => Promise<unknown>

const which = { tenant: 'default', job: 'mail' }
const settleOne: Act = async (scene) => scene.settle(await scene.running(), 'parked')
const skip = [{ kind: 'overlap', key: 'o', limit: 1, policy: 'skip' }] as const
const limits = [
  { kind: 'overlap', key: 'p', limit: 1, policy: 'cancel-previous' },
  { kind: 'concurrency', key: 'c', limit: 1 },
  { kind: 'rate', key: 'r', limit: 1, perMs: 1000 },
] as const
/** Three occurrences with limits, of which one runs. */
const limited: Act = async (scene) => {
  for (const one of [limits, limits, limits.slice(1), skip, skip]) await scene.create({ limits: one, startWithinMs: 10_000 })
  return scene.claim()
}
const fair = { kind: 'fair' } as const
const quotas = { kind: 'quotas', quotas: [{ tenant: 'default', limit: 1 }] } as const
const strand: Act = async (scene) => {
  const job = await scene.putJob()
  await scene.store.plan([scene.planOf(job, [], { rows: [scene.planRow(job, scene.now, { limits: skip })] })])
  await scene.clock.advance(60_000)
  await scene.beat()
}

const acts: Record<string, Act> = {
  create: (scene) => scene.createOne({ key: 'new' }),
  'create under a taken key': (scene) => scene.createOne({ key: 'k', unique: 'live', onConflict: 'replace' }),
  'watching for others': async (scene) => scene.store.hints.subscribe(() => {})(),
  peek: (scene) => scene.store.peek({ kinds: ['mail', 'report'] }),
  claim: (scene) => scene.claim(),
  settle: settleOne,
  'get by id': (scene) => scene.store.get({ id: 'x' }),
  'get by key': (scene) => scene.store.get({ ...which, key: 'k' }),
  'cancel by entity': (scene) => scene.store.cancel({ which: { ...which, entity: 'e' }, reason: null }),
  move: (scene) => scene.store.move({ which: { ...which, key: 'k' }, to: { due: { in: 5 } } }),
  counts: (scene) => scene.store.counts({ tenant: 'default', job: 'mail' }),
  prune: (scene) => scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 1, limit: 10 }),
  'list of all': (scene) => scene.store.list({ limit: 10 }),
  'list by job': (scene) => scene.store.list({ ...which, limit: 10 }),
  'list by tenant': (scene) => scene.store.list({ tenant: 'default', limit: 10 }),
  'list by key': (scene) => scene.store.list({ ...which, key: 'k', limit: 10 }),
  'list by entity': (scene) => scene.store.list({ ...which, entity: 'e', limit: 10 }),
  'list by state': (scene) => scene.store.list({ states: occurrenceStates.filter((state) => state !== 'running'), limit: 10 }),
  'list by job, state and time': (scene) =>
    scene.store.list({ ...which, states: ['failed', 'pending', 'completed'], from: 1, to: 2, limit: 10 }),
  'claim of what has limits': limited,
  'claim of what wakes by itself': async (scene) => {
    await limited(scene)
    await scene.clock.advance(2000)
    await scene.claim()
  },
  'claim under a limit of the cluster': (scene) => scene.claim({ clusterLimit: 1 }),
  'claim in turn': (scene) => scene.claim({ pick: fair }),
  'claim by quotas': (scene) => scene.claim({ pick: quotas }),
  'what is due by groups': async (scene) => {
    await scene.join('node-2', { picks: true })
    await scene.createOne()
    await scene.store.backlog({ kinds: ['mail'] })
  },
  'settle of what others wait for': async (scene) => scene.settle((await limited(scene)) as Holding, 'completed'),
  'cancel and move of what has limits': async (scene) => {
    await limited(scene)
    const { items } = await scene.store.list({ states: ['waiting'], limit: 10 })
    for (const [i, { id }] of items.entries())
      await (i === 0
        ? scene.store.move({ which: { id }, to: { due: { in: 5 } } })
        : scene.store.cancel({ which: { id }, reason: null }))
    await scene.store.get({ id: items[0]?.id as string })
  },
  'rescue of what has not begun in time': async (scene) => {
    await limited(scene)
    await scene.clock.advance(11_000)
    await scene.rescue()
  },
  'prune by rules': async (scene) => {
    const ends = { completed: { endedBefore: scene.now, count: 1 } }
    const rules = [{ tenant: 'default', job: 'mail', ends }]
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: 1, limit: 10, rules })
  },
  'prune of what had limits': async (scene) => {
    await scene.settle((await limited(scene)) as Holding, 'completed')
    await scene.store.prune({ endedBefore: scene.now + 1, keyRetentionMs: 1, limit: 10 })
  },
  'claim during a pause': async (scene) => {
    await scene.pause({ job: 'mail' })
    await scene.createOne()
    await scene.claim()
    await scene.pause({ job: 'mail', open: null })
  },
  'planning of what is stranded': async (scene) => {
    await strand(scene)
    const { jobs } = await scene.store.jobsToPlan({ horizonMs: 1, limit: 10 })
    for (const { job, stranded } of jobs) {
      const revive = stranded.map((at) => ({ at, limits: null, span: null }))
      await scene.store.plan([scene.planOf(job, [], { revive })])
    }
  },
  'a version that takes planned instants back': async (scene) => {
    await scene.putJob()
    await scene.plan([scene.now + 1000])
    await scene.putJob({ payload: '2' })
    await scene.store.readVersions({ tenant: 'default', name: 'report' })
  },
  'ranges of a job': (scene) => scene.store.listRanges({ ...which, limit: 10 }),
}

it.each(Object.keys(acts))('%s neither walks nor sorts what grows', async (name) => {
  const path = databasePath()
  const plans = await plansOf(path, async () => {
    const scene = await sqliteScene(path)
    await fill(scene)
    await acts[name]?.(scene)
  })
  expect(plans.length).toBeGreaterThan(20)
  expect(
    plans.filter((line) => (/SCAN/.test(line) && !isSmall(line)) || (/USE TEMP B-TREE/.test(line) && !isOfOne(line))),
  ).toEqual([])
})

it('no statement is compiled anew at each run because of a bare parameter after LIMIT', async () => {
  const path = databasePath()
  const lines = await plansOf(path, async () => {
    const scene = await sqliteScene(path)
    await fill(scene)
    for (const act of Object.values(acts)) await act(scene).catch(() => {})
  })
  expect(lines.filter((line) => /LIMIT \?(?! \+ 0)/.test(line))).toEqual([])
})

/** A table that grows not at all or a thousand times slower, the index of what is planned ahead, or a look for any row. */
function isSmall(line: string): boolean {
  return (
    /^SCAN (sqlite_schema|sqlite_sequence|CONSTANT|punctual_(block|series|tenant|claim|kind|node|meta|cancel_request|pause|dead|unheard|audit_open)\b)/.test(
      line,
    ) ||
    /^SCAN s in .* FROM punctual_(series|tenant) s WHERE true( LIMIT 201)?$/.test(line) ||
    /^SCAN punctual_(ready|arrival|waiting) USING (COVERING )?INDEX punctual_\w+_(planned|granted)/.test(line) ||
    // All that a pause holds back is let go at once, and of a group at most a thousand rows are counted.
    /^SCAN punctual_aside USING (COVERING )?INDEX punctual_aside_paused/.test(line) ||
    /^SCAN \(subquery-1\) in SELECT count\(\*\) AS count FROM \(.* LIMIT 1000\)$/.test(line) ||
    // Kinds that are asked for; releases that no claim has counted, and slots of rates, up to the first with a line.
    /^SCAN (json_each|k) VIRTUAL TABLE/.test(line) ||
    /^SCAN r USING INDEX punctual_release_free in .* LIMIT 1$/.test(line) ||
    /^SCAN .* in SELECT 1 FROM \w+ LIMIT 1$/.test(line) ||
    /^SCAN (\w+) .* EXISTS \(SELECT 1 FROM \1( WHERE wake_at IS NOT NULL)?\)/.test(line)
  )
}

/** The attempts of one occurrence, the work of one key, and what is stranded of one job are brought in order; new work is counted by job. */
function isOfOne(line: string): boolean {
  return (
    /FROM punctual_attempt WHERE ref = \? ORDER BY seq$/.test(line) ||
    /INDEXED BY punctual_aside_stranded .* WHERE .*\.series = \?/.test(line) ||
    /FROM punctual_occurrence s INDEXED BY punctual_occurrence_key WHERE s\.series = \? AND s\.key = \?/.test(line) ||
    /FOR GROUP BY in SELECT series, count\(\*\) AS count FROM punctual_occurrence WHERE ref > \?/.test(line) ||
    /FOR GROUP BY in SELECT w\.series, f\.priority/.test(line)
  )
}

/** An occurrence in each state that a list has a lane for. */
async function fill(scene: Scene): Promise<void> {
  const ends = ['completed', 'failed', 'canceled', 'skipped', 'missed', 'dead', 'parked'] as const
  for (const end of ends) await scene.settle(await scene.running(), end, { delayMs: 60_000 })
  await scene.create({ key: 'k', unique: 'live', entity: 'e', due: { in: 60_000 } })
}

/** The query plans of all statements that are prepared while `act` runs. */
async function plansOf(path: string, act: () => Promise<unknown>): Promise<string[]> {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await act()
  const texts = new Set(prepare.mock.calls.map(([sql]) => sql).filter((sql) => /^(SELECT|INSERT|UPDATE|DELETE)/.test(sql)))
  prepare.mockRestore()
  const file = new DatabaseSync(path)
  const plans = [...texts].flatMap((sql) => {
    const steps = file.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
    return steps.map(({ detail }) => `${detail} in ${sql.replaceAll(/\s+/g, ' ')}`)
  })
  file.close()
  return plans
}
