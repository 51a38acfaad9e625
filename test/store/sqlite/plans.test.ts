// How SQLite goes about each verb: no statement may walk a table that grows, nor sort one, however few rows a test has.
import { DatabaseSync } from 'node:sqlite'
import { expect, it, vi } from 'vitest'
import { occurrenceStates } from '../../../src/model/lifecycle.ts'
import type { Scene } from '../../../src/testing/store-suite/scene.ts'
import { databasePath } from '../../support/each-store.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'

type Act = (scene: Scene) => Promise<unknown>

const which = { tenant: 'default', job: 'mail' }
const settleOne: Act = async (scene) => scene.settle(await scene.running(), 'parked')

const acts: Record<string, Act> = {
  create: (scene) => scene.createOne({ key: 'new' }),
  'create under a taken key': (scene) => scene.createOne({ key: 'k', unique: 'live', onConflict: 'replace' }),
  'watching for others': async (scene) => scene.store.subscribe(() => {})(),
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

/** A table that grows not at all or a thousand times slower, the index of what is planned ahead, or a look for any row. */
function isSmall(line: string): boolean {
  return (
    /^SCAN (sqlite_schema|CONSTANT|punctual_(block|series|claim|kind|node|meta|start|cancel_request|waiting|dead)\b)/.test(
      line,
    ) ||
    /^SCAN punctual_ready USING COVERING INDEX punctual_ready_planned/.test(line) ||
    /^SCAN .* in SELECT 1 FROM \w+ LIMIT 1$/.test(line)
  )
}

/** The attempts of one occurrence are brought in order. */
function isOfOne(line: string): boolean {
  return /FROM punctual_attempt WHERE ref = \? ORDER BY seq$/.test(line)
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
