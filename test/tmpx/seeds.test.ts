import { it } from 'vitest'
import { postgres } from '../../src/store/postgres/index.ts'
import { compareWithMemory } from '../../src/testing/store-suite/model.ts'
import { randomStep } from '../../src/testing/store-suite/model-step.ts'
import { Scene } from '../../src/testing/store-suite/scene.ts'
import { seededRandom } from '../../src/testing/store-suite/seeded-random.ts'
import { onEmptiedTables } from '../support/emptied-tables.ts'
import { sharedPostgresUrl } from '../support/postgres-database.ts'
const open = onEmptiedTables(async (schema) => postgres(await sharedPostgresUrl(), { schema }))
const from = Number(process.env.FROM ?? 100), n = Number(process.env.N ?? 60)
for (let i = from; i < from + n; i++)
  it(`seed ${i}`, async () => {
    const scene = await Scene.open({ open, lacks: {}, place: `seed-${i}` })
    try {
      const random = seededRandom(i)
      await compareWithMemory(scene, Array.from({ length: 100 }, () => randomStep(random)))
    } finally { await scene.close() }
  }, 60000)
