import { expect, it, onTestFinished } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { concurrency } from '../../../src/testing/store-suite/keys.ts'
import { Scene } from '../../../src/testing/store-suite/scene.ts'
import { freshSchemaName, sharedPostgresUrl } from '../../support/postgres-database.ts'
import { queryOnce } from '../../support/servers/query-once.ts'

/** A scene on a server whose commits wait for the disk, and how the commits that have made claims since did. */
async function sceneOfCommits() {
  const schema = freshSchemaName()
  const url = new URL(await sharedPostgresUrl())
  url.searchParams.set('options', '-c synchronous_commit=on')
  const scene = await Scene.open({
    place: schema,
    lacks: {},
    open: async (env) => {
      const store = postgres(url.href, { schema })
      await store.open(env)
      return store
    },
  })
  onTestFinished(() => scene.close())
  await scene.join()
  await queryOnce(
    url.href,
    `CREATE TABLE ${schema}.noted (seq serial, setting text);
    CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO ${schema}.noted (setting) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON ${schema}.claim DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`,
  )
  const noted = async () => {
    const rows = await queryOnce(url.href, `DELETE FROM ${schema}.noted RETURNING setting`)
    return rows.map((row) => Object.values(row as object)[0])
  }
  return { scene, noted }
}

// A claim that a crash of the server could take back would let another node start what still runs on the first.
it('F13, F54 every claim waits for the disk: of plain work, of work with a limit, at the door and after it', async () => {
  const { scene, noted } = await sceneOfCommits()
  await scene.running()
  await scene.create({ limits: concurrency(1) })
  const held = await scene.claim()
  await scene.settle(held, 'released')
  await scene.claim()
  expect(await noted()).toEqual(['on', 'on', 'on'])
})

it('F13, F54 a claim does that travels with a creation or an end', async () => {
  const { scene, noted } = await sceneOfCommits()
  const { claimed } = await scene.store.create([scene.row()], { claim: scene.claimRequest() })
  expect(claimed?.members).toHaveLength(1)
  expect(await noted()).toEqual(['on'])
  const held = await scene.running()
  await noted()
  await scene.create()
  const { claimed: next } = await scene.store.settle([scene.settleItem(held, 'completed')], { claim: scene.claimRequest() })
  expect(next?.members).toHaveLength(1)
  expect(await noted()).toEqual(['on'])
})
