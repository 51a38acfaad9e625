import { expect, it } from 'vitest'
import { Versions } from '../../../src/store/postgres/names/versions.ts'
import { postgresContext } from '../../support/postgres-context.ts'

it('keeps all versions of a job, however many other jobs are read', async () => {
  const { db } = await postgresContext()
  await db.rows(
    `INSERT INTO punctual.job_version (series, version, spec, effective_at, created_at)
      SELECT s, v, '{}', 0, 0 FROM generate_series(1, 12000) s, generate_series(1, 2) v`,
  )
  const versions = new Versions()
  for (let first = 1; first < 12_000; first += 500) {
    await versions.refresh(db, [1, ...Array.from({ length: 500 }, (_, index) => first + index)])
    expect(versions.newest(1)).toBe(2)
  }
  await db.rows("INSERT INTO punctual.job_version (series, version, spec, effective_at, created_at) VALUES (1, 3, '{}', 0, 0)")
  await versions.refresh(db, [1])
  expect(versions.of(1)?.map(({ version }) => version)).toEqual([1, 2, 3])
  expect(versions.of(2), 'what nobody asks for is forgotten').toBeUndefined()
})
