import { describe, expect, it } from 'vitest'
import { createHandler } from '../../src/http/handler.ts'
import { TimersScene } from './scene.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

describe('TS-7 the state of timer services over HTTP', () => {
  it('has timers by state, poison with its reasons, and each side of each process', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('done', 0)
    await scene.schedule('later', 60_000)
    await scene.schedule('other', 60_000, { tenantId: 'globex' })
    await scene.send('nonsense')
    await scene.clock.advance('10s')
    const handle = createHandler(scene.punctual, { open: true, log: silent })
    const get = async (query = '') => (await handle(new Request(`http://localhost/api/v1/timers${query}`))).json()
    const side = { isOk: true, reason: null }
    expect(await get()).toMatchObject({
      pending: 2,
      fired: 1,
      poisonCount: 1,
      poison: [{ reason: expect.stringContaining('JSON') }],
      instances: [{ isBeating: true, broker: { name: 'flaky', ...side }, commands: side, firing: side }],
    })
    expect(await get('?tenant=globex')).toMatchObject({ pending: 1, fired: 0 })
    scene.broker.isAway = true
    // One beat asks the broker, and the next one has its answer.
    await scene.clock.advance('15s')
    await scene.clock.advance('15s')
    const away = { isOk: false, reason: 'on purpose' }
    expect(await get()).toMatchObject({ instances: [{ broker: away, commands: away, firing: away }] })
    await scene.timers.stop()
    await scene.clock.advance('5s')
    expect(await get()).toMatchObject({ instances: [] })
  })

  it('shows callers with named tenants neither poison nor processes', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('later', 60_000)
    await scene.send('nonsense')
    await scene.clock.advance('10s')
    const authenticate = () => ({ name: 'ann', role: 'viewer', tenants: ['acme'] }) as const
    const handle = createHandler(scene.punctual, { authenticate, log: silent })
    const answer = await handle(new Request('http://localhost/api/v1/timers'))
    expect(await answer.json()).toMatchObject({ pending: 1, poison: [], poisonCount: 0, instances: [] })
  })

  it('names only the side that runs there', async () => {
    const scene = await TimersScene.open({ side: 'commands' })
    await scene.clock.advance('10s')
    const { instances } = await scene.timers.overview()
    expect(instances).toMatchObject([{ commands: { isOk: true }, firing: null }])
  })
})
