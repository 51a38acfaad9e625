// Many nodes on one PostgreSQL, with real connections and the system's clock.
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { probe } from '../../src/testing/probe.ts'
import { systemClock } from '../../src/time/clock.ts'
import { loneNode } from '../support/lone-node.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { TcpProxy } from '../support/servers/tcp-proxy.ts'

const quick = { node: { heartbeat: 100, timeout: 1500, checkInterval: 100 } }

/** A schema, and schedulers on it that are closed with the test. */
async function newCluster() {
  const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
  const scheduler = (options: object = {}, through = url) => {
    const punctual = createPunctual({ store: postgres(through, { schema }), ...quick, ...options })
    onTestFinished(() => punctual.close())
    return punctual
  }
  const query = async (text: string, values: unknown[] = []) => {
    const client = new pg.Client(url)
    await client.connect()
    try {
      return (await client.query(text.replaceAll('punctual.', `${schema}.`), values)).rows
    } finally {
      await client.end()
    }
  }
  return { url, schema, scheduler, query }
}

describe('many nodes on PostgreSQL', () => {
  it('F26 a jump of the database clock by ten minutes, forth and back, declares nobody gone', async () => {
    const { scheduler, query } = await newCluster()
    const ran: unknown[] = []
    const job = defineJob('work').task('only', ({ payload }) => void ran.push(payload))
    const nodes = [scheduler({ jobs: [job] }), scheduler({ jobs: [job] })]
    const wrong: string[] = []
    for (const node of nodes) {
      node.on('node.gone', ({ node: gone }) => wrong.push(`gone ${gone}`))
      node.on('node.fenced', ({ reason }) => wrong.push(`fenced ${reason}`))
      await node.start()
    }
    const [first] = nodes as [(typeof nodes)[0]]
    const beats = async () => (await query('SELECT min(beats)::int AS least FROM punctual.node'))[0].least as number
    for (const jump of [600_000, -600_000]) {
      await query(`CREATE OR REPLACE FUNCTION punctual.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS
        $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 + ${jump} $$`)
      const before = await beats()
      while ((await beats()) < before + 20);
      const { id } = await first.enqueue(job, jump)
      while ((await first.get(id))?.state !== 'completed');
    }
    expect(ran).toEqual([600_000, -600_000])
    expect(wrong).toEqual([])
    expect(await first.nodes()).toHaveLength(2)
  })

  it('F17, F20 a node that is cut off stops itself; its work runs elsewhere, and it comes back under a new id', async () => {
    const { url, scheduler } = await newCluster()
    const proxy = await TcpProxy.start({ url })
    onTestFinished(() => proxy.close())
    const aborted = Promise.withResolvers<unknown>()
    const job = defineJob('work', { retry: { max: 3, interval: 0 } }).task('only', ({ signal }) =>
      isCut
        ? 'done elsewhere'
        : new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              aborted.resolve((signal.reason as { code: string }).code)
              reject(signal.reason)
            })
          }),
    )
    let isCut = false
    const cut = scheduler({ jobs: [job], name: 'cut' }, proxy.url)
    const events = probe(cut)
    await cut.start()
    const { id } = await cut.enqueue(job, undefined)
    await events.next('task.started')
    const other = scheduler({ jobs: [job], name: 'other' })
    const [boot] = (await other.nodes()).map((node) => node.boot)
    const fenced = events.next('node.fenced')
    isCut = true
    proxy.cut()
    expect(await aborted.promise).toBe('lost')
    await fenced
    await other.start()
    while ((await other.get(id))?.state !== 'completed');
    expect((await other.get(id))?.turns.map(({ end }) => end)).toEqual(['lost', 'completed'])
    proxy.heal()
    const back = async () => (await other.nodes()).find(({ name, boot: now }) => name === 'cut' && now !== boot)
    while (!(await back()));
  })

  it('a node that could not listen for a while looks for what it was not told of', async () => {
    const { url, schema, scheduler, query } = await newCluster()
    const proxy = await TcpProxy.start({ url })
    onTestFinished(() => proxy.close())
    const job = defineJob('work').task('only', () => 'done')
    // It never looks by itself.
    const node = scheduler({ store: postgres(url, { schema, listenUrl: proxy.url }), jobs: [job], poll: '1h' })
    const events = probe(node)
    await node.start()
    const listening = [`LISTEN "punctual_${schema}"`]
    while ((await query('SELECT pid FROM pg_stat_activity WHERE query = $1', listening)).length === 0);
    await proxy.cut()
    const { id } = await scheduler().enqueue('work', {})
    await proxy.heal()
    expect((await events.next('occurrence.completed')).id).toBe(id)
  })

  it('gives back a claim whose answer never came, with the next beat', async () => {
    const { url, schema } = await newCluster()
    const store = postgres(url, { schema })
    await store.open({ clock: systemClock, random: () => 0.5 })
    onTestFinished(() => store.close())
    const node = loneNode('lonely')
    const beat = { node, claims: [], inFlight: [], long: [] }
    await store.beat({ ...beat, phase: 'join' })
    const punctual = createPunctual({ store: postgres(url, { schema }) })
    onTestFinished(() => punctual.close())
    const { id } = await punctual.enqueue('mail', {})
    await store.claim({ id: 'unheard', token: 't', node: node.boot, kinds: ['mail'], limit: 10 })
    expect((await punctual.get(id))?.state).toBe('running')
    await store.beat({ ...beat, phase: 'stay' })
    expect((await punctual.get(id))?.turns.map(({ end }) => end)).toEqual(['released'])
  })

  it.each([
    ['one member each', 1],
    ['a hundred members each', 100],
  ])('F26 takes over thousands of dead claims of %s, every member once, page by page', async (_, size) => {
    const { url, schema, scheduler, query } = await newCluster()
    const store = postgres(url, { schema })
    await store.open({ clock: systemClock, random: () => 0.5 })
    onTestFinished(() => store.close())
    const node = { ...loneNode('dying'), ttlMs: 1 }
    await store.beat({ node, claims: [], inFlight: [], long: [], phase: 'join' })
    const count = Number(process.env.DEAD_CLAIMS ?? 3000)
    const client = scheduler()
    for (let made = 0; made < count; made += 1000)
      await client.enqueueMany(Array.from({ length: 1000 }, () => ({ job: 'mail', payload: null })))
    for (let at = 0, taken = 1; taken > 0; at++)
      taken = (await store.claim({ id: `c${at}`, token: 't', node: node.boot, kinds: ['mail'], limit: 100 })).members.length
    if (size === 1) await query(splitClaims)
    expect(await query('SELECT count(*)::int AS n FROM punctual.claim')).toEqual([{ n: count / size }])
    const beats = (await store.nodes()).nodes[0]?.beats ?? 0
    const began = performance.now()
    const rescued: string[] = []
    for (let isMore = true; isMore; ) {
      const answer = await store.rescue({
        gone: [{ boot: node.boot, beats }],
        settings: { retry: { intervalMs: 0 } },
        mostRecoveries: 3,
        kinds: [],
        hookMs: 0,
        limit: 1000,
      })
      rescued.push(...answer.rescued.map(({ id }) => id))
      isMore = answer.more
    }
    if (process.env.DEAD_CLAIMS)
      console.log(`${count} in claims of ${size} taken over in ${Math.round(performance.now() - began)} ms`)
    expect(new Set(rescued).size).toBe(count)
    expect(rescued).toHaveLength(count)
    expect(await client.counts({})).toMatchObject({ running: 0, retrying: count })
  })

  it('F26 takes over from many gone nodes, each of which is removed once all of its claims are', async () => {
    const { url, schema, scheduler } = await newCluster()
    const store = postgres(url, { schema })
    await store.open({ clock: systemClock, random: () => 0.5 })
    onTestFinished(() => store.close())
    const client = scheduler()
    const held = new Map<string, Set<string>>()
    for (let at = 0; at < 5; at++) {
      const node = { ...loneNode(`dying ${at}`), ttlMs: 1 }
      await store.beat({ node, claims: [], inFlight: [], long: [], phase: 'join' })
      const made = await client.enqueueMany(Array.from({ length: 30 }, () => ({ job: 'mail', payload: null })))
      for (let taken = 0; taken < 30; taken++)
        await store.claim({ id: `${node.boot} ${taken}`, token: 't', node: node.boot, kinds: ['mail'], limit: 1 })
      held.set(node.boot, new Set(made.map(({ id }) => id)))
    }
    const gone = (await store.nodes()).nodes.map(({ boot, beats }) => ({ boot, beats }))
    const pages: number[] = []
    for (let isMore = true; isMore; ) {
      const { rescued, removed, more } = await store.rescue({
        gone,
        settings: { retry: { intervalMs: 0 } },
        mostRecoveries: 2,
        kinds: [],
        hookMs: 0,
        limit: 40,
      })
      pages.push(rescued.length)
      for (const { id } of rescued) for (const ids of held.values()) ids.delete(id)
      for (const boot of removed) expect([boot, held.get(boot)?.size]).toEqual([boot, 0])
      isMore = more
    }
    expect(pages).toEqual([40, 40, 40, 30])
    expect(await client.nodes()).toEqual([])
    expect(await client.counts({})).toMatchObject({ running: 0, retrying: 150 })
  })
})

/** Makes a separate claim of each member: claiming them one by one would take minutes where there are many. */
const splitClaims = `WITH old AS (DELETE FROM punctual.claim RETURNING *)
  INSERT INTO punctual.claim (id, token, node, refs, turns, dues)
  SELECT old.id || '-' || m.ref, token, node, ARRAY[m.ref], ARRAY[m.turn], ARRAY[m.due]
  FROM old CROSS JOIN unnest(refs, turns, dues) m (ref, turn, due)`
