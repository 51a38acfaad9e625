import { expect, it } from 'vitest'
import { defaultOptions, type Env } from '../../src/engine/env.ts'
import { Planner } from '../../src/engine/loops/planner.ts'
import { StoreTime } from '../../src/engine/node/store-time.ts'
import { Emitter } from '../../src/model/events.ts'
import { MemoryStore } from '../../src/store/memory/memory-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { newSpec } from '../support/new-spec.ts'

it('F29 plans by what a version says, also where its number stood for something else before the store lost its last commits', async () => {
  const clock = manualClock('2026-01-01T00:00:30Z')
  const storeWith = async (text: string) => {
    const store = new MemoryStore()
    await store.open({ clock, random: () => 0 })
    const spec = newSpec({ schedule: { kind: 'cron', text, timezone: 'UTC' } })
    await store.putJob({ tenant: 'default', name: 'report', spec, declared: spec, override: null, effectiveAt: null, by: null })
    return store
  }
  const plannedIn = async (store: MemoryStore) => (await store.list({ limit: 100 })).items.map(({ scheduledAt }) => scheduledAt)
  const before = await storeWith('* * * * *')
  await clock.advance(1000)
  const after = await storeWith('*/20 * * * * *')
  let store = before
  const planner = new Planner({
    clock,
    get store() {
      return store
    },
    time: new StoreTime(clock),
    events: new Emitter(() => {}),
    options: { ...defaultOptions, settings: {}, horizonMs: 60_000 },
  } as unknown as Env)
  await planner.runOnce()
  expect(await plannedIn(before)).toEqual([Date.parse('2026-01-01T00:01:00Z')])
  store = after
  await planner.runOnce()
  expect((await plannedIn(after)).sort()).toEqual([40, 60, 80].map((second) => Date.UTC(2026, 0, 1, 0, 0, second)))
})
