import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { defineJob, type Punctual } from 'punctual'
import { manualClock } from 'punctual/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { memory } from '../../src/store/memory/index.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'
import { databasePath } from '../support/database-path.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { queryOnce } from '../support/servers/query-once.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const report = defineJob('report', {}, () => 'sent')

function node(store: Store, over = {}) {
  const clock = manualClock()
  const punctual = createPunctual({ store, jobs: [report], clock, log: silent, ...over })
  onTestFinished(() => punctual.close())
  return { punctual, clock }
}

/** Six rows: the keeper has sealed three, one segment for each, and the others wait. */
async function sixRows(store: Store) {
  const { punctual, clock } = node(store)
  await punctual.start()
  for (const by of ['p0', 'p1', 'p2']) {
    await punctual.trigger(report, { by })
    await clock.advance(120_000)
    await punctual.idle()
  }
  await punctual.stop()
  for (const by of ['p3', 'p4', 'p5']) await punctual.trigger(report, { by })
  const found = await punctual.verifyAudit()
  expect(found).toMatchObject({ isWhole: true, rows: 6, unsealed: 3, segments: 3, dropped: 0 })
  const { items } = await punctual.audit({ order: 'oldest' })
  const seqOf = (by: string) => items.find(({ actor }) => actor === by)?.seq as number
  return { punctual, seqOf, hash: found.hash as string }
}

const faultsOf = async (punctual: Punctual, options = {}) =>
  (await punctual.verifyAudit(options)).faults.map(({ kind, message }) => `${kind}: ${message}`)

/** A store, and a way around it to its tables, without their triggers. */
type Database = () => Promise<{ readonly store: Store; readonly tamper: (sql: string) => Promise<unknown> }>

async function inFile(): ReturnType<Database> {
  const path = databasePath()
  const tamper = async (sql: string) => {
    const db = new DatabaseSync(path)
    for (const act of ['update', 'delete', 'insert', 'repeat']) db.exec(`DROP TRIGGER IF EXISTS punctual_audit_${act}`)
    db.exec(sql.replaceAll('punctual.', 'punctual_'))
    db.close()
  }
  return { store: sqlite(path), tamper }
}

async function inSchema(): ReturnType<Database> {
  const [url, schema] = [await sharedPostgresUrl(), freshSchemaName()]
  const tamper = async (sql: string) => {
    await queryOnce(url, `ALTER TABLE ${schema}.audit DISABLE TRIGGER USER`)
    await queryOnce(url, sql.replaceAll('punctual.', `${schema}.`))
  }
  return { store: postgres(url, { schema }), tamper }
}

describe.each<[string, Database]>([
  ['sqlite', inFile],
  ['postgres', inSchema],
])('BL-7 a tampered audit (%s)', (_, open) => {
  it.each([
    ['p0', 'of segment 1'],
    ['p2', 'of segment 3'],
    ['p3', 'without a seal yet'],
    ['p5', 'without a seal yet'],
  ])('a row that was changed, then removed, is found and named: that of %s', async (by, place) => {
    const { store, tamper } = await open()
    const { punctual, seqOf } = await sixRows(store)
    const seq = seqOf(by)
    await tamper(`UPDATE punctual.audit SET actor = 'p9' WHERE seq = ${seq}`)
    expect(await faultsOf(punctual)).toEqual([`changed: Row ${seq} ${place} was changed`])
    await tamper(`UPDATE punctual.audit SET actor = '${by}' WHERE seq = ${seq}`)
    expect(await faultsOf(punctual)).toEqual([])
    await tamper(`UPDATE punctual.audit SET at = at + 1 WHERE seq = ${seq}`)
    expect(await faultsOf(punctual)).toEqual([`changed: Row ${seq} ${place} was changed`])
    await tamper(`DELETE FROM punctual.audit WHERE seq = ${seq}`)
    expect(await faultsOf(punctual)).toEqual([`missing: Row ${seq} ${place} is missing`])
  })

  it('a row that was changed before its seal is found after it', async () => {
    const { store, tamper } = await open()
    const { punctual, seqOf } = await sixRows(store)
    await tamper(`UPDATE punctual.audit SET reason = 'none' WHERE seq = ${seqOf('p4')}`)
    await tamper(`DELETE FROM punctual.audit WHERE seq = ${seqOf('p5')}`)
    await store.prune({ endedBefore: 0, keyRetentionMs: 1000, limit: 10, auditBefore: null })
    expect(await punctual.verifyAudit()).toMatchObject({ segments: 4, unsealed: 0 })
    expect(await faultsOf(punctual)).toEqual([
      `changed: Row ${seqOf('p4')} of segment 4 was changed`,
      `missing: Row ${seqOf('p5')} of segment 4 is missing`,
    ])
  })

  it('a row that was inserted is found and named', async () => {
    const { store, tamper } = await open()
    const { punctual, seqOf } = await sixRows(store)
    await tamper("INSERT INTO punctual.audit (at, act, target, actor, action) VALUES (1, 'x', 'y', 'eve', 'cancel')")
    expect(await faultsOf(punctual)).toEqual([
      `inserted: Row ${seqOf('p5') + 1} was inserted: neither a segment nor the list of unsealed rows has it`,
    ])
  })

  it.each([
    ['rows', "UPDATE punctual.audit_seal SET rows = replace(rows, '[', '{') WHERE segment = 2"],
    ['content', "UPDATE punctual.audit_seal SET content = 'x' WHERE segment = 2"],
    ['hash', "UPDATE punctual.audit_seal SET hash = 'x' WHERE segment = 2"],
    ['time', 'UPDATE punctual.audit_seal SET sealed_at = 0 WHERE segment = 2'],
  ])('a segment whose %s was changed is found and named', async (_, sql) => {
    const { store, tamper } = await open()
    const { punctual } = await sixRows(store)
    await tamper(sql)
    expect(await faultsOf(punctual)).toContain('segment: The seal of segment 2 was changed')
  })

  it('a segment that was removed is found by the ones after it, the last ones by their hash', async () => {
    const { store, tamper } = await open()
    const { punctual, seqOf, hash } = await sixRows(store)
    expect(await faultsOf(punctual, { hash })).toEqual([])
    await tamper('DELETE FROM punctual.audit_seal WHERE segment = 3')
    expect(await faultsOf(punctual)).toEqual([expect.stringContaining(`inserted: Row ${seqOf('p2')}`)])
    await tamper(`DELETE FROM punctual.audit WHERE seq = ${seqOf('p2')}`)
    expect(await faultsOf(punctual)).toEqual([])
    expect(await faultsOf(punctual, { hash })).toEqual([
      `segment: No segment has the hash ${hash}: segments were replaced or removed`,
    ])
    await tamper('DELETE FROM punctual.audit_seal WHERE segment = 1')
    expect(await faultsOf(punctual)).toContain('segment: Segment 1 is missing')
  })

  it('a segment that was marked as dropped by retention is counted', async () => {
    const { store, tamper } = await open()
    const { punctual, seqOf } = await sixRows(store)
    await tamper("UPDATE punctual.audit_seal SET dropped_at = 1, rows = '[]' WHERE segment = 1")
    await tamper(`DELETE FROM punctual.audit WHERE seq = ${seqOf('p0')}`)
    expect(await punctual.verifyAudit()).toMatchObject({ isWhole: true, rows: 5, segments: 3, dropped: 1 })
  })
})

it.each(['p1', 'p4'])('BL-7 a flipped bit in the file is found: in the row of %s', async (by) => {
  const path = databasePath()
  const { punctual, seqOf } = await sixRows(sqlite(path))
  await punctual.close()
  const file = readFileSync(path)
  const target = Buffer.from(`${by}trigger`)
  const at = file.indexOf(target)
  expect([at > 0, file.indexOf(target, at + 1)]).toEqual([true, -1])
  for (const bit of [0, 3, 7]) {
    const damaged = Buffer.from(file)
    damaged[at] = (file[at] as number) ^ (1 << bit)
    writeFileSync(path, damaged)
    const reader = createPunctual({ store: sqlite(path), jobs: [], log: silent })
    expect(await faultsOf(reader)).toEqual([expect.stringMatching(`^changed: Row ${seqOf(by)} .* was changed$`)])
    await reader.close()
  }
})

describe('BL-7 a verification beside other work', () => {
  /** Does something between the read of the digests and that of the rows. */
  function racing(act: (store: Store) => Promise<unknown>): Store {
    const store = memory()
    const plain = store.listAudit.bind(store)
    const listAudit: Store['listAudit'] = async (query) => {
      if (query.of === 'rows' && query.order === 'oldest') await act(store)
      return plain(query)
    }
    return Object.assign(store, { listAudit })
  }

  const seal = (store: Store, auditBefore: number | null = null) =>
    store.prune({ endedBefore: 0, keyRetentionMs: 1000, limit: 10, auditBefore })

  it.each<[string, (store: Store, other: Punctual) => Promise<unknown>]>([
    ['are appended', async (_, other) => other.trigger(report)],
    ['are sealed', (store) => seal(store)],
    [
      'are appended and sealed',
      async (store, other) =>
        seal(store)
          .then(() => other.trigger(report))
          .then(() => seal(store)),
    ],
    ['are dropped by retention', (store) => seal(store, Number.MAX_SAFE_INTEGER)],
  ])('finds no fault in rows that %s meanwhile', async (_, act) => {
    let other: Punctual | null = null
    const store = racing(async (behind) => other && act(behind, other))
    const { punctual } = node(store)
    await punctual.trigger(report)
    await seal(store)
    await punctual.trigger(report)
    other = punctual
    expect((await punctual.verifyAudit()).faults).toEqual([])
  })
})

it('refuses a hash that is none, and options that it does not have', async () => {
  const { punctual } = node(memory())
  await expect(punctual.verifyAudit({ hash: '' })).rejects.toMatchObject({ code: 'option.invalid' })
  await expect(punctual.verifyAudit({ all: true } as never)).rejects.toMatchObject({ code: 'option.unknown' })
})
