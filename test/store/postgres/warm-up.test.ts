import { expect, it, onTestFinished } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { Scene } from '../../../src/testing/store-suite/scene.ts'
import { systemClock } from '../../../src/time/clock.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInvariants } from '../../support/postgres-invariants.ts'
import { queryOnce } from '../../support/servers/query-once.ts'
import { recordStatements } from '../../support/statement-recorder.ts'

const { sent } = recordStatements()

it('a node that joins has connections that know what it will say most, and nothing is written by that', async () => {
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
  await scene.join()
  const heard = sent.length
  for (const table of ['occurrence', 'ready', 'claim', 'turn', 'count_delta'])
    expect(await queryOnce(url, `SELECT 1 FROM ${schema}.${table}`)).toEqual([])
  // On three connections, two of them twice: the third is that of the join.
  const warmed = [...Map.groupBy(sent.slice(0, heard), (text) => text)].filter(([, { length }]) => length === 5)
  await scene.settle(await scene.running({ payload: null }), 'completed', {
    end: scene.end('completed', { attempt: 'succeeded', startedAt: 1, endedAt: 2 }),
  })
  const said = new Set(sent.slice(heard))
  // A creation that notifies other processes is not among what follows.
  expect(warmed.map(([text]) => said.has(text))).toEqual([true, true, false, true])
  expect(await brokenInvariants(url, schema)).toEqual([])
})
