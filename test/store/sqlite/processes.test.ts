import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { occurrenceStates } from '../../../src/model/lifecycle.ts'
import type { Store } from '../../../src/store/store.ts'
import { seededRandom } from '../../../src/testing/store-suite/seeded-random.ts'
import { databasePath } from '../../support/database-path.ts'
import type { RaceReport } from '../../support/sqlite-racer.ts'
import { sqliteScene } from '../../support/sqlite-scene.ts'
import type { Act } from '../../support/sqlite-writer.ts'

const script = (name: string) => fileURLToPath(new URL(`../../support/${name}`, import.meta.url))

/** Starting a hundred processes may take long on a busy machine; nothing here is about how long. */
const patienceMs = 300_000

it(
  'eight processes race for 10,000 occurrences, and each is claimed exactly once',
  async () => {
    const path = databasePath()
    const { store, row } = await raceCourse(path)
    const ids = Array.from({ length: 10 }, () => Array.from({ length: 1000 }, () => row()))
    for (const rows of ids) await store.create(rows)
    const racers = await Promise.all(Array.from({ length: 8 }, () => readyRacer(path)))
    for (const racer of racers) racer.send('go')
    const reports = await Promise.all(racers.map(finish))

    const claimed = reports.flatMap((report) => report.ids)
    expect(claimed).toHaveLength(10_000)
    expect(new Set(claimed)).toEqual(new Set(ids.flat().map(({ id }) => id)))
    // Node may run a timer in the phase in which it was set, so now and then a wait is over before the loop has turned; a store
    // that waits inside of SQLite would never let it turn.
    const total = (of: 'waits' | 'blocked') => reports.reduce((sum, report) => sum + report[of], 0)
    expect(total('blocked')).toBeLessThanOrEqual(1 + total('waits') / 4)
    expect((await store.counts({})).states).toMatchObject({ pending: 0, running: 0, completed: 10_000 })
    await expectWhole(path, store)
  },
  patienceMs,
)

it(
  'a hundred kills in the middle of the work lose nothing that was acknowledged',
  async () => {
    const path = databasePath()
    const { store } = await raceCourse(path)
    const random = seededRandom(Number(process.env.SEED ?? 11))
    const told = new Map<string, Act>()
    const killed = async () => {
      for (let kills = 0; kills < 25; kills++) await killAfter(path, 1 + Math.floor(random() * 60), told)
    }
    // Four at a time: the others go on while one is killed in the middle of a commit.
    await Promise.all([killed(), killed(), killed(), killed()])

    const wrong: string[] = []
    for (const [id, act] of told) {
      const state = (await store.get({ id }))?.state ?? 'gone'
      if (!allowed[act].includes(state)) wrong.push(`${id} was ${act} and is ${state}`)
    }
    expect(wrong).toEqual([])
    expect(told.size).toBeGreaterThan(100)
    await expectWhole(path, store)
  },
  patienceMs,
)

/** The states that an occurrence may have after its last reported act. */
const allowed: Record<Act, readonly string[]> = {
  created: ['pending', 'running', 'retrying', 'completed'],
  claimed: ['running', 'retrying', 'completed'],
  completed: ['completed'],
}

async function raceCourse(path: string) {
  const scene = await sqliteScene(path)
  return { store: scene.store, row: () => scene.row() }
}

/** Later processes need not compile what the first one has. */
function envOf(path: string): NodeJS.ProcessEnv {
  return { ...process.env, NODE_COMPILE_CACHE: join(dirname(path), 'compiled') }
}

async function readyRacer(path: string): Promise<ChildProcess> {
  const racer = fork(script('sqlite-racer.ts'), [path], { execArgv: [], env: envOf(path) })
  await once(racer, 'message')
  return racer
}

async function finish(racer: ChildProcess): Promise<RaceReport> {
  const [report] = await Promise.race([
    once(racer, 'message'),
    once(racer, 'exit').then(() => Promise.reject(new Error('A racer ended without a report'))),
  ])
  return report as RaceReport
}

/** Starts a writer and kills it after so many reported acts; reports until then are kept. */
async function killAfter(path: string, acts: number, told: Map<string, Act>): Promise<void> {
  const writer = spawn(process.execPath, [script('sqlite-writer.ts'), path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: envOf(path),
  })
  const ended = once(writer, 'exit')
  let heard = 0
  for await (const line of createInterface(writer.stdout)) {
    const [act, id = ''] = line.split(' ') as [Act, string?]
    // A line that was cut by the kill tells nothing.
    if (id.length === 36) told.set(id, act)
    if (++heard === acts) writer.kill('SIGKILL')
  }
  expect(await ended).toEqual([null, 'SIGKILL'])
}

/** The file is sound, and the counts that are kept agree with the rows. */
async function expectWhole(path: string, store: Store): Promise<void> {
  const file = new DatabaseSync(path)
  expect(file.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  file.close()
  const listed = Object.fromEntries(occurrenceStates.map((state) => [state, 0]))
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await store.list({ limit: 500, ...(cursor !== undefined && { cursor }) })
    for (const { state } of page.items) listed[state] = (listed[state] ?? 0) + 1
    cursor = page.cursor
  }
  expect((await store.counts({})).states).toEqual(listed)
}
