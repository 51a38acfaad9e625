import assert from 'node:assert/strict'
import { sumFigures } from '../../model/figure.ts'
import type { FigureQuery, FigureRow, TokenRecord } from '../../store/store.ts'
import { concurrency } from './keys.ts'
import { day, hour, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

export const figureCases = topic('figures', {
  'figures are added once under an id': async (scene) => {
    const add = { id: 'n1 1', rows: [row(scene, { figure: { completed: 2, run: { 3: 2 } } })] }
    await scene.store.figures(add)
    await scene.store.figures(add)
    await scene.store.figures({ id: 'n1 2', rows: [row(scene, { figure: { completed: 1, failed: 1, run: { 3: 1, 9: 1 } } })] })
    assert.deepEqual(await sum(scene, {}), { completed: 3, failed: 1, run: { 3: 3, 9: 1 } })
  },
  'figures are read by job, by tenant, of all, and of each job': async (scene) => {
    const rows = [
      row(scene, { figure: { completed: 3 } }),
      row(scene, { tenant: 'acme', figure: { completed: 2 } }),
      row(scene, { tenant: 'acme', job: 'mail', figure: { completed: 2 } }),
      row(scene, { tenant: 'globex', job: 'mail', figure: { completed: 1 } }),
    ]
    await scene.store.figures({ id: 'a', rows })
    assert.deepEqual(await sum(scene, {}), { completed: 3 })
    assert.deepEqual(await sum(scene, { tenant: 'acme' }), { completed: 2 })
    assert.deepEqual(await sum(scene, { tenant: 'acme', job: 'mail' }), { completed: 2 })
    const each = await scene.store.figures({ byJob: true, ...span(scene), limit: 10 })
    assert.deepEqual(each.map(({ tenant }) => tenant).sort(), ['acme', 'globex'])
    assert.equal((await scene.store.figures({ byJob: true, tenant: 'acme', ...span(scene), limit: 10 })).length, 1)
  },
  'figures outside the span are left out': async (scene) => {
    const at = scene.now - (scene.now % minute)
    const rows = [-2, -1, 0].map((n) => row(scene, { at: at + n * minute, figure: { completed: 10 - n } }))
    await scene.store.figures({ id: 'a', rows })
    assert.deepEqual(await sum(scene, { from: at - minute, to: at }), { completed: 11 })
  },
  'figures grow coarser with age, and none is lost before its time': async (scene) => {
    const first = scene.now
    for (let n = 0; n < 30; n++)
      await scene.store.figures({
        id: `a ${n}`,
        rows: [row(scene, { at: minuteOf(first) + n * minute, figure: { completed: 1 } })],
      })
    const all = { from: first - 2 * day, to: first + 2 * day }
    for (const [age, most] of [
      [1 * hour, 30],
      [7 * hour, 4],
      [36 * day, 2],
    ] as const) {
      await scene.clock.advance(first + age - scene.now)
      await prune(scene)
      const rows = await scene.store.figures({ ...all, limit: 100 })
      assert.ok(rows.length <= most, `${rows.length} rows`)
      assert.deepEqual(sumFigures(rows.map(({ figure }) => figure)), { completed: 30 })
    }
    await scene.clock.advance(first + 402 * day - scene.now)
    await prune(scene)
    assert.deepEqual(await scene.store.figures({ ...all, limit: 100 }), [])
  },
  'a span of figures gets one row, however often old ones are summed up': async (scene) => {
    const first = scene.now - (scene.now % day) + day
    for (let n = 0; n < 30; n++)
      await scene.store.figures({ id: `a ${n}`, rows: [row(scene, { at: first + n * minute, figure: { completed: 1 } })] })
    const counts: number[] = []
    for (const [age, step, times] of [
      [6 * hour, minute, 50],
      [35 * day, 15 * minute, 100],
    ] as const) {
      await scene.clock.advance(first + age - scene.now)
      for (let n = 0; n < times; n++) {
        await prune(scene)
        await scene.clock.advance(step)
      }
      const rows = await scene.store.figures({ from: first, to: first + day, limit: 100 })
      assert.deepEqual(sumFigures(rows.map(({ figure }) => figure)), { completed: 30 })
      counts.push(rows.length)
    }
    assert.deepEqual(counts, [2, 1])
  },
  'what may be claimed is listed in the order in which it is due': async (scene) => {
    const late = await scene.create({ due: { in: -hour }, priority: 9, key: 'k' })
    const soon = await scene.create({ due: { in: minute }, tenant: 'acme' })
    const limited = await scene.create({ due: { in: 2 * minute }, limits: concurrency(1) })
    const far = await scene.create({ due: { in: day }, priority: 0 })
    const all = await scene.store.listDue({ limit: 10 })
    assert.deepEqual(
      all.map(({ id }) => id),
      [late, soon, limited, far],
    )
    assert.deepEqual(all[0], {
      id: late,
      tenant: 'default',
      job: 'mail',
      key: 'k',
      source: 'deferred',
      dueAt: scene.now - hour,
      state: 'pending',
    })
    const ids = async (query: object) => (await scene.store.listDue({ limit: 10, ...query })).map(({ id }) => id)
    assert.deepEqual(await ids({ to: scene.now }), [late])
    assert.deepEqual(await ids({ from: scene.now, limit: 2 }), [soon, limited])
    assert.deepEqual(await ids({ tenant: 'acme' }), [soon])
    assert.deepEqual(await ids({ tenant: 'default', job: 'mail', from: scene.now }), [limited, far])
    assert.deepEqual(await ids({ tenant: 'nobody', job: 'mail' }), [])
  },
  'work that runs, waits or has ended is not listed as due': async (scene) => {
    await scene.running()
    await scene.completed()
    const parked = await scene.running()
    await scene.settle(parked, 'parked', { delayMs: minute })
    const lines = await scene.store.listDue({ limit: 10 })
    assert.deepEqual(
      lines.map(({ id, state }) => [id, state]),
      [[parked.id, 'retrying']],
    )
  },
  'tokens are stored once, listed, found by id and deleted with their sessions': async (scene) => {
    const token = newToken(scene, { id: 'a', tenants: ['acme'] })
    await scene.store.tokens({ put: token })
    await scene.store.tokens({ put: { ...token, role: 'admin' } })
    await scene.store.tokens({ put: newToken(scene, { id: 's', parent: 'a' }) })
    await scene.store.tokens({ put: newToken(scene, { id: 'b', expiresAt: scene.now + minute }) })
    const ids = async () => (await scene.store.tokens({ find: {} })).map(({ id }) => id)
    assert.deepEqual(await ids(), ['a', 'b'])
    assert.deepEqual(await scene.store.tokens({ find: { id: 'a' } }), [token])
    assert.equal((await scene.store.tokens({ find: { id: 's' } })).length, 1)
    await scene.clock.advance(minute)
    assert.deepEqual(await ids(), ['a'])
    assert.deepEqual(await scene.store.tokens({ find: { id: 'b' } }), [])
    await prune(scene)
    assert.deepEqual(await scene.store.tokens({ drop: 'a' }), [token])
    assert.deepEqual(await scene.store.tokens({ drop: 'a' }), [])
    assert.deepEqual(await scene.store.tokens({ find: { id: 's' } }), [])
  },
})

function newToken(scene: Scene, over: Partial<TokenRecord>): TokenRecord {
  const plain = { name: 'ci', role: 'viewer', tenants: null, hash: 'h', parent: null, createdBy: 'ada', expiresAt: null }
  return { id: 'a', ...plain, createdAt: scene.now, ...over }
}

const minuteOf = (at: number) => at - (at % minute)

function row(scene: Scene, over: Partial<FigureRow>): FigureRow {
  return { tenant: '', job: '', at: minuteOf(scene.now), widthMs: minute, figure: {}, ...over }
}

const span = (scene: Scene) => ({ from: scene.now - hour, to: scene.now + hour })

async function sum(scene: Scene, query: Partial<FigureQuery>) {
  const rows = await scene.store.figures({ ...span(scene), limit: 100, ...query })
  return sumFigures(rows.map(({ figure }) => figure))
}

async function prune(scene: Scene): Promise<void> {
  await scene.store.prune({ endedBefore: 0, keyRetentionMs: day, limit: 100 })
}
