import { expect, it, onTestFinished } from 'vitest'
import { defineJob } from '../../../src/model/definition.ts'
import { postgres } from '../../../src/store/postgres/index.ts'
import { newCluster } from '../../support/cluster.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { recordStatements } from '../../support/statement-recorder.ts'

const { sent } = recordStatements()

it('a node with nothing to do sends one statement for each look and each beat, and no transaction', async () => {
  const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
  const { node, pass } = newCluster({ connect: () => postgres(url, { schema }) })
  const job = defineJob('work').task('only', () => {})
  const { punctual } = await node({ jobs: [job] })
  onTestFinished(() => punctual.close())
  await punctual.enqueue(job, undefined, { delay: '1d' })
  // By then what the start and the first work have left behind is folded, and the first gauge is sent.
  await pass(10)
  const before = sent.length
  await pass(18)
  const idle = sent.slice(before)
  const kinds = Map.groupBy(idle, (text) => /\b(UPDATE|unserved|least)\b/.exec(text)?.[1] ?? text)
  expect([...kinds].map(([kind, { length }]) => [kind, length]).sort()).toEqual([
    ['UPDATE', 3],
    ['least', 9],
    ['unserved', 9],
  ])
})
