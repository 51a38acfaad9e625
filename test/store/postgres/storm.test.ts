import { beforeAll, describe, expect, it } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInvariants } from '../../support/postgres-invariants.ts'
import { queryOnce } from '../../support/servers/query-once.ts'
import { Storm } from '../../support/storm.ts'

const seeds = Number(process.env.SEEDS ?? 3)
const first = Number(process.env.SEED ?? 1)
const steps = Number(process.env.STEPS ?? 150)

let url = ''
beforeAll(async () => {
  url = await sharedPostgresUrl()
})

describe('eight stores on one schema, all verbs at random', () => {
  it.each(Array.from({ length: seeds }, (_, at) => first + at))(
    'every occurrence has one place, limits hold, counts agree, and all of it comes to an end (seed %i)',
    async (seed) => {
      const clock = manualClock()
      const schema = freshSchemaName()
      const stores = Array.from({ length: 8 }, () => postgres(url, { schema, listenUrl: false }))
      for (const store of stores) await store.open({ clock, random: () => 0 })
      const storm = new Storm(stores, clock)
      const broken = () => brokenInvariants(url, schema)
      expect(await foundDuring(storm.rage(seed, steps), broken)).toEqual([])
      expect(storm.faults).toEqual([])
      expect(await broken()).toEqual([])
      await storm.calm()
      expect(storm.faults).toEqual([])
      expect(await broken()).toEqual([])
      await storm.forget()
      expect(await broken()).toEqual([])
      expect(await queryOnce(url, `SELECT ref FROM ${schema}.start WHERE ref NOT IN (SELECT ref FROM ${schema}.dead)`)).toEqual(
        [],
      )
      const used = `SELECT key FROM ${schema}.limit_key k WHERE used > (SELECT coalesce(sum(slots), 0) FROM ${schema}.release r WHERE r.key = k.key)`
      expect(await queryOnce(url, used), 'every key is free at the end').toEqual([])
      expect(await queryOnce(url, `SELECT ref FROM ${schema}.turn WHERE ref NOT IN (SELECT ref FROM ${schema}.dead)`)).toEqual([])
      for (const store of stores) await store.close()
    },
  )
})

/** Repeats the check for as long as the work goes on, and returns all faults it found. */
async function foundDuring(work: Promise<void>, look: () => Promise<string[]>): Promise<string[]> {
  let isOver = false
  const found: string[] = []
  const watch = async () => {
    while (!isOver && found.length === 0) found.push(...(await look()))
  }
  const ended = work.finally(() => {
    isOver = true
  })
  await Promise.all([ended, watch()])
  return found
}
