// The effect of a broken connection on each verb: nothing is left half done, and a repetition is safe.
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { postgres } from '../../../src/store/postgres/index.ts'
import { Scene } from '../../../src/testing/store-suite/scene.ts'
import { onEmptiedTables } from '../../support/emptied-tables.ts'
import { sharedPostgresUrl } from '../../support/postgres-database.ts'
import { brokenInvariants } from '../../support/postgres-invariants.ts'
import { repeatedVerbs } from '../../support/repeated-verbs.ts'
import { TcpProxy } from '../../support/servers/tcp-proxy.ts'

const unreachable = { code: 'store.unreachable' }

let url: string
let proxy: TcpProxy
let schema: string
let places = 0
beforeAll(async () => {
  // Where nothing is prepared, compiling statements would take most of the time.
  url = `${await sharedPostgresUrl()}?options=-c%20jit%3Doff`
  proxy = await TcpProxy.start({ url })
})
afterAll(() => proxy?.close())

// Named statements are sent once for each connection, and the proxy has to find them in every call.
const open = onEmptiedTables((name) => {
  schema = name
  return postgres(proxy.url, { schema, prepare: false, listenUrl: false })
})

/** An empty store behind the proxy. */
async function newScene(): Promise<Scene> {
  const scene = await Scene.open({ place: `${++places}`, lacks: {}, open })
  onTestFinished(async () => {
    await proxy.heal()
    await scene.close()
  })
  return scene
}

describe.each(repeatedVerbs)('$name', ({ arrange, commit }) => {
  it('F15 committed, and the reply lost: said again it answers the same, and nothing is there twice', async () => {
    const scene = await newScene()
    const call = await arrange(scene)
    const lost = proxy.loseReplyTo(commit)
    await expect(call.say(scene.store)).rejects.toMatchObject(unreachable)
    await lost
    await proxy.heal()
    expect(await call.say(scene.store)).toEqual(call.again)
    expect(await call.say(scene.store)).toEqual(call.again)
    expect(await brokenInvariants(url, schema)).toEqual([])
  })

  it('cut in the midst, again and again a little later: it is told as unreachable, and nothing is half done', async () => {
    const scene = await newScene()
    const call = await arrange(scene)
    let cuts = 0
    for (let bytes = 50; ; bytes = Math.ceil(bytes * 1.6)) {
      void proxy.cutAfterBytes(bytes)
      const said = await call.say(scene.store).catch((error: unknown) => error)
      if (!(said instanceof Error)) {
        expect([call.first, call.again]).toContainEqual(said)
        break
      }
      expect(said).toMatchObject(unreachable)
      cuts++
      await proxy.cut()
      await proxy.heal()
    }
    await proxy.heal()
    expect(cuts).toBeGreaterThan(3)
    expect(await call.say(scene.store)).toEqual(call.again)
    expect(await brokenInvariants(url, schema)).toEqual([])
  })
})

it('F57 a line that passes nothing: the call is given up after ten seconds, and the next has another line', async () => {
  const scene = await newScene()
  const row = scene.row()
  await scene.create()
  proxy.stall()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const refused = expect(scene.store.create([row])).rejects.toMatchObject({
    ...unreachable,
    message: expect.stringContaining('10000 ms'),
  })
  await vi.advanceTimersByTimeAsync(10_000)
  await refused
  vi.useRealTimers()
  await proxy.heal()
  // A statement under way may yet have arrived.
  expect((await scene.store.create([row])).rows).toMatchObject([{ id: row.id, differs: false }])
  expect(await brokenInvariants(url, schema)).toEqual([])
})

it('F57 a server that takes connections and says nothing: the call is given up after five seconds', async () => {
  const scene = await newScene()
  await proxy.cut()
  await proxy.heal()
  proxy.stall()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const refused = expect(scene.create()).rejects.toMatchObject(unreachable)
  await vi.advanceTimersByTimeAsync(5_000)
  await refused
  vi.useRealTimers()
  await proxy.heal()
  await scene.create()
})
