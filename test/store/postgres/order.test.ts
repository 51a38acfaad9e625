import { expect, it, onTestFinished } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { concurrency } from '../../../src/testing/store-suite/keys.ts'
import { Scene } from '../../../src/testing/store-suite/scene.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInvariants } from '../../support/postgres-invariants.ts'
import { queryOnce } from '../../support/servers/query-once.ts'
import { startWorker } from '../../support/worker-process.ts'

const keys = 500
const ofEach = 4

it.each([false, true])(
  'JB-8 four processes keep the order within 500 keys, and every key is free at the end (kill -9: %s)',
  async (isKilled) => {
    const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
    const scene = await Scene.open({
      place: schema,
      lacks: {},
      open: async () => {
        const store = postgres(url, { schema })
        await store.open({ clock: systemClock, random: Math.random })
        return store
      },
    })
    onTestFinished(() => scene.close())
    const limits = Array.from({ length: keys }, (_, i) => concurrency(1, `k${i}`))
    for (let n = 0; n < ofEach; n++) await scene.createAll(limits.map((own) => scene.row({ limits: own })))
    const start = (boot: string, ttlMs: number) =>
      startWorker(new URL('order.process.ts', import.meta.url), url, schema, boot, String(ttlMs))
    const workers = [start('a', 600_000), start('b', 600_000), start('c', 600_000)]
    const victim = start('victim', isKilled ? 1 : 600_000)
    if (isKilled) {
      await victim.until(({ what }) => what === 'ended' || what === 'done')
      victim.child.kill('SIGKILL')
      await victim.ended
      // When the last node that serves a job is gone, its work gives up its keys, and with them its place before later work.
      for (const worker of workers) await worker.until(({ what }) => what === 'joined')
      const node = (await scene.store.nodes()).nodes.find(({ boot }) => boot === 'victim')
      await scene.rescue({ gone: [{ boot: 'victim', beats: node?.beats ?? 0 }], settings: { retry: { intervalMs: 0 } } })
    } else workers.push(victim)
    for (const worker of workers) await worker.until(({ what }) => what === 'done')
    expect((await scene.store.counts({})).states).toMatchObject({ completed: keys * ofEach })
    const outOfOrder = `SELECT * FROM (
    SELECT o.ref, t.started_at, lag(t.ended_at) OVER (PARTITION BY o.form ORDER BY o.ref) AS before
    FROM ${schema}.occurrence o JOIN ${schema}.turn t ON t.ref = o.ref AND t."end" = 'completed') s WHERE started_at < before`
    expect(await queryOnce(url, outOfOrder)).toEqual([])
    await scene.join()
    await scene.claim()
    expect(await queryOnce(url, `SELECT key, used FROM ${schema}.limit_key WHERE used <> 0`)).toEqual([])
    expect(await brokenInvariants(url, schema)).toEqual([])
  },
)
