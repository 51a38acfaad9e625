import assert from 'node:assert/strict'
import type { GateRecord, GateReserve } from '../../store/store.ts'
import { day, memberRef, minute, type Scene } from './scene.ts'
import { topic } from './topic.ts'

const place = { tenant: 'default', scope: 'charge', key: 'order-42' }

export function reservation(over: Partial<GateReserve> = {}): GateReserve {
  return {
    act: 'reserve',
    ...place,
    holder: 'holder-1',
    fingerprint: null,
    occurrence: null,
    member: null,
    holdMs: minute,
    takesUnknown: false,
    keepMs: 10 * minute,
    ...over,
  }
}

const record = (holder = 'holder-1', result: string | null = '"paid"') =>
  ({ act: 'record', ...place, holder, result, keepMs: 10 * minute }) as const

async function outcome(scene: Scene, over: Partial<GateReserve> = {}): Promise<string> {
  return (await scene.store.gate(reservation(over))).outcome
}

async function only(scene: Scene): Promise<GateRecord> {
  const { items } = await scene.store.gate({ act: 'list', limit: 10 })
  assert.equal(items.length, 1)
  return items[0] as GateRecord
}

export const gateCases = topic('gate', {
  'BL-6 a key is reserved once, and its recorded outcome goes to every duplicate': async (scene) => {
    assert.equal(await outcome(scene), 'reserved')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'busy')
    assert.equal((await scene.store.gate(record())).outcome, 'recorded')
    const again = await scene.store.gate(reservation({ holder: 'holder-2' }))
    assert.deepEqual([again.outcome, again.gate?.result, again.gate?.hits], ['done', '"paid"', 1])
    assert.equal((await only(scene)).hits, 1)
  },
  'BL-6 of many calls at once one reserves the key': async (scene) => {
    for (let round = 0; round < 5; round++) {
      const key = `order-${round}`
      const calls = Array.from({ length: 8 }, (_, i) => outcome(scene, { key, holder: `holder-${i}` }))
      assert.deepEqual((await Promise.all(calls)).toSorted(), [...Array<string>(7).fill('busy'), 'reserved'])
    }
  },
  'a released key is free at once': async (scene) => {
    await outcome(scene)
    assert.equal((await scene.store.gate({ act: 'release', ...place, holder: 'holder-1' })).outcome, 'released')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'reserved')
  },
  'only the holder records, releases and doubts': async (scene) => {
    await outcome(scene)
    assert.equal((await scene.store.gate(record('holder-2'))).outcome, 'lost')
    assert.equal((await scene.store.gate({ act: 'release', ...place, holder: 'holder-2' })).outcome, 'lost')
    assert.equal((await scene.store.gate({ act: 'doubt', ...place, holder: 'holder-2', reason: 'x' })).outcome, 'lost')
    assert.equal((await only(scene)).state, 'reserved')
  },
  'another fingerprint under the same key is a mismatch, whatever the state': async (scene) => {
    await outcome(scene, { fingerprint: 'a' })
    assert.equal(await outcome(scene, { fingerprint: 'b', holder: 'holder-2' }), 'mismatch')
    await scene.store.gate(record())
    assert.equal(await outcome(scene, { fingerprint: 'b', holder: 'holder-2' }), 'mismatch')
    assert.equal(await outcome(scene, { fingerprint: 'a', holder: 'holder-2' }), 'done')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'done')
  },
  'TS-10 keys of one tenant mean nothing in another': async (scene) => {
    await outcome(scene)
    assert.equal(await outcome(scene, { tenant: 'globex', holder: 'holder-2' }), 'reserved')
    assert.equal(await outcome(scene, { scope: 'mail', holder: 'holder-3' }), 'reserved')
    assert.equal((await scene.store.gate({ act: 'list', tenant: 'globex', limit: 10 })).items.length, 1)
  },
  'a reservation is unknown when its time is over, and its holder may still record': async (scene) => {
    await outcome(scene)
    await scene.clock.advance(minute)
    assert.equal((await only(scene)).state, 'unknown')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'unknown')
    assert.equal((await scene.store.gate(record())).outcome, 'recorded')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'done')
  },
  'BL-6 a reservation is unknown when its turn ends without an outcome': async (scene) => {
    const holding = await scene.running()
    const member = memberRef(holding)
    assert.equal(await outcome(scene, { member, occurrence: holding.id }), 'reserved')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'busy')
    await scene.settle(holding, 'parked')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'unknown')
    const { state, occurrence, reason } = await only(scene)
    assert.deepEqual([state, occurrence, typeof reason], ['unknown', holding.id, 'string'])
  },
  'BL-6 a reservation is unknown when its node is lost': async (scene) => {
    const holding = await scene.running()
    await outcome(scene, { member: memberRef(holding), holdMs: 60 * minute })
    await scene.loseNode()
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'unknown')
  },
  'BL-6 a call outside of jobs that takes over the key of a lost turn holds it': async (scene) => {
    const holding = await scene.running()
    await outcome(scene, { member: memberRef(holding), occurrence: holding.id })
    await scene.settle(holding, 'parked')
    assert.equal(await outcome(scene, { holder: 'holder-2', takesUnknown: true }), 'taken')
    assert.equal((await only(scene)).state, 'reserved')
    assert.equal(await outcome(scene, { holder: 'holder-3', takesUnknown: true }), 'busy')
  },
  'a turn that is over reserves nothing': async (scene) => {
    const holding = await scene.running()
    const member = memberRef(holding)
    await scene.settle(holding, 'parked')
    assert.equal(await outcome(scene, { member }), 'lost')
    assert.equal(await outcome(scene, { member: { ...member, claim: { ...member.claim, token: 'forged' } } }), 'lost')
    assert.equal((await scene.store.gate({ act: 'list', limit: 10 })).items.length, 0)
  },
  'only the one that can resolve an unknown outcome takes the key over, and then the former holder has lost it': async (
    scene,
  ) => {
    await outcome(scene)
    await scene.store.gate({ act: 'doubt', ...place, holder: 'holder-1', reason: 'timeout' })
    assert.equal((await only(scene)).reason, 'timeout')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'unknown')
    assert.equal(await outcome(scene, { holder: 'holder-2', takesUnknown: true }), 'taken')
    assert.equal(await outcome(scene, { holder: 'holder-2', takesUnknown: true }), 'taken')
    assert.equal(await outcome(scene, { holder: 'holder-3', takesUnknown: true }), 'busy')
    assert.equal((await scene.store.gate(record())).outcome, 'lost')
    assert.equal((await scene.store.gate(record('holder-2'))).outcome, 'recorded')
    assert.equal((await only(scene)).tries, 2)
  },
  'BL-6 a person resolves an unknown outcome as happened or as not happened': async (scene) => {
    const resolve = (to: { result: string | null; keepMs: number | null } | null) =>
      scene.store.gate({ act: 'resolve', ...place, to })
    assert.equal((await resolve(null)).outcome, 'none')
    await outcome(scene)
    assert.equal((await resolve(null)).outcome, 'busy')
    await scene.clock.advance(minute)
    assert.equal((await resolve(null)).outcome, 'resolved')
    assert.equal(await outcome(scene, { holder: 'holder-2' }), 'reserved')
    await scene.clock.advance(minute)
    assert.equal((await resolve({ result: '7', keepMs: null })).outcome, 'resolved')
    assert.equal((await resolve({ result: '7', keepMs: null })).outcome, 'done')
    const again = await scene.store.gate(reservation({ holder: 'holder-3' }))
    assert.deepEqual([again.outcome, again.gate?.result], ['done', '7'])
    assert.equal((await scene.store.gate(record('holder-2'))).outcome, 'lost')
  },
  'a recorded outcome is forgotten after its time and then pruned; unknown ones never are': async (scene) => {
    await outcome(scene)
    await scene.store.gate(record())
    await outcome(scene, { key: 'kept', holder: 'holder-2' })
    await scene.clock.advance(10 * minute - 1)
    assert.equal(await outcome(scene, { holder: 'holder-3' }), 'done')
    await scene.clock.advance(1)
    await scene.store.prune({ endedBefore: scene.now, keyRetentionMs: minute, limit: 10 })
    assert.deepEqual([(await only(scene)).key, (await only(scene)).state], ['kept', 'unknown'])
    assert.equal(await outcome(scene, { holder: 'holder-3' }), 'reserved')
  },
  'an outcome past its time is forgotten before it is pruned': async (scene) => {
    await outcome(scene)
    await scene.store.gate(record())
    await scene.clock.advance(10 * minute)
    assert.equal(await outcome(scene, { holder: 'holder-3' }), 'reserved')
  },
  'a key of an occurrence alone is kept for as long as the occurrence, which may be retried': async (scene) => {
    const holding = await scene.running()
    const own = { scope: holding.id, occurrence: holding.id, member: memberRef(holding) }
    assert.equal(await outcome(scene, own), 'reserved')
    await scene.store.gate({ ...record(), scope: holding.id })
    await scene.settle(holding, 'dead')
    await scene.clock.advance(10 * minute)
    const prune = () => scene.store.prune({ endedBefore: scene.now, keyRetentionMs: minute, limit: 10 })
    await prune()
    await scene.store.move({ which: { id: holding.id }, to: { retry: { in: 0 } } })
    const again = await scene.claim()
    assert.equal(await outcome(scene, { ...own, member: memberRef(again), holder: 'holder-2' }), 'done')
    await scene.settle(again, 'completed')
    for (const _ of [1, 2]) {
      await scene.clock.advance(2 * day)
      await prune()
    }
    assert.equal((await scene.store.gate({ act: 'list', limit: 10 })).items.length, 0, 'it goes with its occurrence')
  },
  'keys are listed in pages by tenant, scope and key, and by their state': async (scene) => {
    for (const key of ['a', 'b', 'c', 'd', 'e']) await outcome(scene, { key, holder: key, ...(key === 'd' && { holdMs: 0 }) })
    await scene.store.gate({ act: 'doubt', ...place, key: 'b', holder: 'b', reason: 'timeout' })
    const keys: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: { items: readonly GateRecord[]; cursor: string | null } = await scene.store.gate({
        act: 'list',
        limit: 2,
        ...(cursor !== undefined && { cursor }),
      })
      keys.push(...page.items.map(({ key }) => key))
      cursor = page.cursor
    }
    assert.deepEqual(keys, ['a', 'b', 'c', 'd', 'e'])
    const unknown = await scene.store.gate({ act: 'list', state: 'unknown', limit: 1 })
    assert.deepEqual([unknown.items.map(({ key }) => key), unknown.cursor !== null], [['b'], true])
    const rest = await scene.store.gate({ act: 'list', state: 'unknown', limit: 1, cursor: unknown.cursor as string })
    assert.deepEqual([rest.items.map(({ key }) => key), rest.cursor], [['d'], null])
    await assert.rejects(scene.store.gate({ act: 'list', limit: 1, cursor: 'forged' }), { code: 'option.invalid' })
  },
})

export const gateTransactionCases = topic(
  'gate in a transaction',
  {
    'BL-6 the effect and its key commit together, and a duplicate gets the outcome': async (scene) => {
      let calls = 0
      const within = () => {
        calls++
        return '"paid"'
      }
      const first = await scene.store.gate(reservation({ within }))
      assert.deepEqual([first.outcome, first.gate?.result], ['performed', '"paid"'])
      const again = await scene.store.gate(reservation({ within, holder: 'holder-2' }))
      assert.deepEqual([again.outcome, again.gate?.result, calls], ['done', '"paid"', 1])
    },
    'BL-6 of many calls at once one performs the effect, and the others get its outcome': async (scene) => {
      let calls = 0
      const within = () => `${++calls}`
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, i) => scene.store.gate(reservation({ within, holder: `holder-${i}` }))),
      )
      assert.deepEqual(
        answers.map((answer) => answer.gate?.result),
        Array<string>(6).fill('1'),
      )
      assert.equal(answers.filter((answer) => answer.outcome === 'performed').length, 1)
    },
    'an effect that throws leaves no key behind': async (scene) => {
      const within = () => {
        throw new Error('no funds')
      }
      await assert.rejects(scene.store.gate(reservation({ within })), { message: 'no funds' })
      assert.equal((await scene.store.gate({ act: 'list', limit: 10 })).items.length, 0)
      assert.equal(await outcome(scene), 'reserved')
    },
    'a turn that is over performs nothing': async (scene) => {
      const holding = await scene.running()
      const member = memberRef(holding)
      await scene.settle(holding, 'parked')
      let calls = 0
      const within = () => {
        calls++
        return null
      }
      assert.deepEqual([await outcome(scene, { member, within }), calls], ['lost', 0])
    },
  },
  'tx',
)
