import { writeFileSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { openStoreUrl } from '../../src/cli/store-url.ts'
import { createPunctual } from '../../src/client/punctual.ts'
import { databasePath } from '../support/database-path.ts'
import { freshSchemaName, sharedPostgresUrl } from '../support/postgres-database.ts'
import { type Said, startWorker, type WorkerProcess } from '../support/worker-process.ts'

const file = new URL('release.process.ts', import.meta.url)
const poll = { timeout: 60_000 }

async function newPlant() {
  const store = `${await sharedPostgresUrl()}?schema=${freshSchemaName()}`
  const client = createPunctual({ store: await openStoreUrl(store) })
  onTestFinished(() => client.close())
  const start = (name: string, code: 'old' | 'new', release: number) => startWorker(file, store, name, code, String(release))
  /** The stored job `report`: its version, its next instants and its tasks. */
  const report = async () => {
    const job = (await client.jobs()).items.find(({ name }) => name === 'report')
    const versions = await client.versions('report')
    return [job?.version, (job?.schedule as { text: string } | undefined)?.text, versions.at(-1)?.spec.tasks.length]
  }
  /** All nodes have beaten and looked around several times. */
  const aWhile = async () => {
    const beats = async () => new Map((await client.nodes()).map((node) => [node.boot, node.beats]))
    const before = await beats()
    const haveBeaten = async () => [...(await beats())].every(([boot, now]) => now >= (before.get(boot) ?? 0) + 10)
    await expect.poll(haveBeaten, poll).toBe(true)
  }
  return { client, start, report, aWhile }
}

const about = (what: string, id: string) => (said: Said) => said.what === what && said.id === id
const tasksOf = (worker: WorkerProcess, id: string) => worker.said.filter(about('started', id)).map(({ task }) => task)

it('JB-20, F63 old and new code side by side: each takes only what it can run, and the definition does not flap', async () => {
  const { client, start, report, aWhile } = await newPlant()
  const gate = `${databasePath()}.gate`
  const old = start('old', 'old', 1)
  await expect.poll(report, poll).toEqual([1, '0 18 * * *', 1])
  const { id: early } = await client.enqueue('report', null)
  await old.until(about('completed', early))
  expect(tasksOf(old, early)).toEqual(['fetch'])

  // Both are busy, one with each meeting: both work. Then only the old one has a slot again.
  const fresh = start('new', 'new', 2)
  await expect.poll(report, poll).toEqual([2, '0 9 * * *', 2])
  const kinds = async (name: string) => (await client.nodes()).find((node) => node.name === name)?.kinds ?? []
  await expect.poll(() => kinds('new'), poll).toEqual(['report', 'meet', 'fresh'])
  const [brief, long] = (await client.enqueueMany([`${gate}-1`, gate].map((payload) => ({ job: 'meet', payload })))).map(
    ({ id }) => id,
  )
  const takers = await Promise.all(
    [brief, long].map((id) => Promise.race([old, fresh].map((one) => one.until(about('started', id as string))))),
  )
  expect(takers.map(({ name }) => name).sort()).toEqual(['new', 'old'])
  const byNew = takers.find(({ name }) => name === 'new')?.id
  const ofOld = byNew === long ? `${gate}-1` : gate
  const ofNew = byNew === long ? gate : `${gate}-1`
  const work = Array.from({ length: 5 }, () => [{ job: 'report' }, { job: 'fresh' }]).flat()
  const made = (await client.enqueueMany(work)).map(({ id }) => id)
  const { id: common } = await client.enqueue('meet', ofOld)
  writeFileSync(ofOld, '')
  // Later work is taken by the old one, which has passed them by. The other may have one of them in hand.
  await old.until(about('completed', common))
  const states = await Promise.all(made.map(async (id) => (await client.get(id))?.state))
  expect(states.filter((state) => state === 'pending').length).toBeGreaterThanOrEqual(made.length - 1)
  expect(await kinds('old')).toEqual(['report', 'meet'])
  writeFileSync(ofNew, '')
  for (const id of made) await fresh.until(about('completed', id))
  expect(made.map((id) => tasksOf(fresh, id))).toEqual(made.map((_, at) => (at % 2 === 0 ? ['fetch', 'send'] : ['only'])))
  expect(made.flatMap((id) => tasksOf(old, id))).toEqual([])
  await aWhile()
  expect(await report()).toEqual([2, '0 9 * * *', 2])

  // Old code that starts anew beside the new one changes nothing either.
  old.child.kill('SIGTERM')
  await old.until(({ what }) => what === 'closed')
  const oldAgain = start('old again', 'old', 1)
  await oldAgain.until(({ what }) => what === 'ready')
  await aWhile()
  expect(await report()).toEqual([2, '0 9 * * *', 2])
})

it('JB-20 the later release has the say, also when it says what an older version said', async () => {
  const { start, report, aWhile } = await newPlant()
  start('one', 'old', 1)
  await expect.poll(report, poll).toEqual([1, '0 18 * * *', 1])
  start('two', 'new', 2)
  await expect.poll(report, poll).toEqual([2, '0 9 * * *', 2])
  start('three', 'old', 3)
  await expect.poll(report, poll).toEqual([3, '0 18 * * *', 1])
  await aWhile()
  expect(await report()).toEqual([3, '0 18 * * *', 1])
})
