// Lists over more jobs than a store looks into one by one, with so much newer work on top that a look at the newest does not find all.
import { expect, it } from 'vitest'
import { causeOf } from '../../src/model/cause.ts'
import { type OccurrenceState, occurrenceStates, type TurnEnd } from '../../src/model/lifecycle.ts'
import type { OccurrenceFilter } from '../../src/store/query.ts'
import type { Scene } from '../../src/testing/store-suite/scene.ts'
import { postgresScene } from '../support/postgres-scene.ts'
import { sqliteScene } from '../support/sqlite-scene.ts'

const jobs = 260
const newer = 5200
const batch = 400
const error = { name: 'Error', message: 'no route' }
const ends = ['completed', 'failed', 'dead', 'canceled', 'skipped', 'missed', 'parked', null] as const
const states = { completed: 'completed', parked: 'retrying' } as Readonly<Record<string, OccurrenceState>>

interface Known {
  readonly id: string
  readonly tenant: string
  readonly job: string
  readonly key: string
  readonly entity: string
  readonly at: number
  readonly state: OccurrenceState
}

const scenes = { sqlite: () => sqliteScene(), postgres: async () => (await postgresScene()).scene }

it.each(Object.keys(scenes) as (keyof typeof scenes)[])(
  'lists of %s find all that they should, and nothing else',
  async (name) => {
    const scene = await scenes[name]()
    await scene.join('node-1', { concurrency: 1000 })
    const known = [...(await spread(scene)), ...(await busy(scene))].reverse()
    const [newest, oldest] = [known[0] as Known, known.at(-1) as Known]
    const tenants = [undefined, 'acme', 'rest', 'busy', 'nobody']
    const wanted: Omit<OccurrenceFilter, 'limit'>[] = [
      ...tenants.flatMap((tenant) => [undefined, ...occurrenceStates].map((state) => of({ tenant, states: state && [state] }))),
      ...tenants.flatMap((tenant) => [
        of({ tenant, entity: 'customer-3' }),
        of({ tenant, key: 'order-7' }),
        of({ tenant, cause: causeOf(error) }),
      ]),
      ...occurrenceStates.map((state) => of({ states: [state], entity: 'customer-3' })),
      of({ states: ['failed', 'dead', 'missed', 'pending'] }),
      of({ states: ['running', 'retrying'], tenant: 'rest' }),
      of({ key: 'order-7', entity: 'customer-3' }),
      of({ key: 'order-11', entity: 'customer-3', states: ['failed', 'running'] }),
      of({ from: oldest.at, to: oldest.at + 1 }),
      of({ from: oldest.at, to: oldest.at + 1, tenant: 'acme', states: ['failed'] }),
      of({ from: oldest.at, to: oldest.at + 1, entity: 'customer-3' }),
      of({ from: newest.at, tenant: 'acme' }),
      of({ from: newest.at, tenant: 'busy', states: ['completed'] }),
      of({ job: 'job-3', states: ['canceled', 'completed'] }),
    ]
    for (const filter of wanted)
      expect(await idsOf(scene, filter), JSON.stringify(filter)).toEqual(
        known.filter((one) => matches(one, filter)).map(({ id }) => id),
      )
  },
)

/** Leaves out what is undefined. */
function of(filter: { readonly [Name in keyof Omit<OccurrenceFilter, 'limit'>]: OccurrenceFilter[Name] | undefined }) {
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined)) as Omit<OccurrenceFilter, 'limit'>
}

function matches(
  one: Known,
  { tenant, job, states: asked, key, entity, cause, from = 0, to = Number.POSITIVE_INFINITY }: Omit<OccurrenceFilter, 'limit'>,
) {
  return (
    [undefined, one.tenant].includes(tenant) &&
    [undefined, one.job].includes(job) &&
    [undefined, one.key].includes(key) &&
    [undefined, one.entity].includes(entity) &&
    (cause === undefined ? !asked || asked.includes(one.state) : one.state === 'dead') &&
    one.at >= from &&
    one.at < to
  )
}

async function idsOf(scene: Scene, filter: Omit<OccurrenceFilter, 'limit'>): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await scene.store.list({ ...filter, limit: 500, ...(cursor !== undefined && { cursor }) })
    ids.push(...page.items.map(({ id }) => id))
    cursor = page.cursor
  }
  return ids
}

/** One occurrence of each job, in all states. */
async function spread(scene: Scene): Promise<Known[]> {
  const rows = Array.from({ length: jobs }, (_, n) =>
    rowOf(scene, { tenant: n % 13 === 0 ? 'acme' : 'rest', job: `job-${n}`, n }),
  )
  return settled(scene, rows, (n) => ends[n % ends.length] ?? null)
}

/** Newer occurrences of one job of another tenant. */
async function busy(scene: Scene): Promise<Known[]> {
  await scene.clock.advance(1000)
  const known: Known[] = []
  for (let first = 0; first < newer; first += batch) {
    const rows = Array.from({ length: batch }, (_, n) => rowOf(scene, { tenant: 'busy', job: 'busy', n: 1000 + first + n }))
    known.push(...(await settled(scene, rows, () => 'completed')))
  }
  return known
}

function rowOf(scene: Scene, { tenant, job, n }: { tenant: string; job: string; n: number }) {
  return scene.row({ tenant, job, definition: 'mail', key: `order-${n % 100}`, unique: 'live', entity: `customer-${n % 4}` })
}

async function settled(
  scene: Scene,
  rows: readonly ReturnType<typeof rowOf>[],
  endOf: (n: number) => TurnEnd | null,
): Promise<Known[]> {
  const at = scene.now
  // Each with a free key of its job.
  await scene.createAll(rows.map((row, n) => (row.job === 'busy' ? { ...row, key: `busy-${n}` } : row)))
  const holding = await scene.claim({ limit: 1000 })
  const places = new Map(rows.map(({ id }, n) => [id, n]))
  const items = holding.members.flatMap((member, i) => {
    const end = endOf(places.get(member.record.id) as number)
    return end === null
      ? []
      : [{ ...scene.settleItem(holding, end, i), end: scene.end(end, end === 'dead' ? { error } : {}), delayMs: 3_600_000 }]
  })
  await scene.settleAll(items)
  return rows.map((row, n) => {
    const end = endOf(n)
    const key = row.job === 'busy' ? `busy-${n}` : (row.key as string)
    const { id, tenant, job, entity } = row
    return {
      id,
      tenant,
      job,
      key,
      entity: entity as string,
      at,
      state: end === null ? 'running' : (states[end] ?? (end as OccurrenceState)),
    }
  })
}
