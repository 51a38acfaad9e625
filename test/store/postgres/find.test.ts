import { Client } from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { keyedId } from '../../../src/model/ids.ts'
import type { Session } from '../../../src/store/postgres/connection/session.ts'
import { findOfEntity, findRef } from '../../../src/store/postgres/find.ts'
import { postgresContext } from '../../support/postgres-context.ts'
import { sharedPostgresUrl } from '../../support/postgres-database.ts'

const job = { tenant: 'acme', job: 'mail' }

it.each(['ours', "the caller's"])('on a connection of %s, finds by id, key and entity', async (whose) => {
  const session = await filled(whose === 'ours')
  const find = (which: Parameters<typeof findRef>[1]) => findRef(session, which)
  expect(await find({ id: id(1) })).toBe(1)
  expect(await find({ id: id(1), tenant: 'acme' })).toBe(1)
  expect(await find({ id: id(1), tenant: 'globex' })).toBeNull()
  expect(await find({ id: id(9) })).toBeNull()
  expect(await find({ id: 'no uuid' })).toBeNull()
  expect(await find({ ...job, key: 'ever' }), 'the one that goes on').toBe(3)
  expect(await find({ ...job, key: 'live' }), 'the one that has the key now').toBe(4)
  expect(await find({ ...job, key: 'past' }), 'the newest that had it').toBe(7)
  expect(await find({ ...job, tenant: 'globex', key: 'past' })).toBeNull()
  expect(await findOfEntity(session, { ...job, entity: 'e' })).toEqual([1, 3, 7])
  expect(await findOfEntity(session, { ...job, entity: 'f' })).toEqual([])
})

function id(ref: number): string {
  return `00000000-0000-7000-8000-${String(ref).padStart(12, '0')}`
}

async function filled(isOurs: boolean): Promise<Session> {
  const { db, names } = await postgresContext()
  await names.addSeries([job])
  await db.rows(
    `INSERT INTO punctual.form (digest, kind, version, source, uniqueness, hooked, priority) VALUES ('', 1, 0, 'deferred', 'live', false, 5)`,
  )
  const rows: [ref: number, id: string, key: string | null, entity: string | null][] = [
    [1, id(1), null, 'e'],
    [2, keyedId('acme', 'mail', 'ever'), 'ever', 'e'],
    [3, id(3), 'ever', 'e'],
    [4, id(4), 'live', null],
    [5, id(5), 'live', 'f'],
    [6, id(6), 'past', 'e'],
    [7, id(7), 'past', 'e'],
  ]
  for (const row of rows)
    await db.rows(
      `INSERT INTO punctual.occurrence (ref, id, key, entity, series, scheduled_at, created_at, form)
        VALUES ($1, $2, $3, $4, 1, 0, 0, 1)`,
      row,
    )
  await db.rows("INSERT INTO punctual.live_key (series, key, ref) VALUES (1, 'live', 4)")
  // 2 and 5 have ended, 6 is dead; 3 has lost a turn and goes on.
  await db.rows(
    `INSERT INTO punctual.turn (ref, turn, "end", series, ended_at, due_at)
      VALUES (2, 1, 'completed', 1, 0, 0), (5, 1, 'canceled', 1, 0, 0), (6, 1, 'dead', 1, 0, 0), (3, 1, 'lost', 1, 0, 0)`,
  )
  await db.rows("INSERT INTO punctual.dead (series, ref, tenant, cause, died_at) VALUES (1, 6, 'acme', '', 0)")
  return isOurs ? db : db.joined(await ownClient())
}

/** A client as callers have them, in a transaction: rows are objects, and big numbers texts. */
async function ownClient(): Promise<Client> {
  const client = new Client(await sharedPostgresUrl())
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  return client
}
