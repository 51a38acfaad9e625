import assert from 'node:assert/strict'
import { forged, memberOf, memberRef, minute } from './scene.ts'
import { topic } from './topic.ts'

const anyStore = topic('checkpoint', {
  'JB-12 an ended attempt is kept while the turn goes on': async (scene) => {
    const holding = await scene.running()
    const attempt = scene.attempt({ task: 'fetch', state: 'succeeded', result: '{"n":1}', error: null })
    assert.deepEqual(await scene.store.checkpoint([{ ...memberRef(holding), attempts: [attempt] }]), ['ok'])
    const { attempts, state, turns } = await scene.get(holding.id)
    assert.deepEqual([attempts, state, turns], [[attempt], 'running', []])
  },
  'an error is kept with all it says': async (scene) => {
    const holding = await scene.running()
    const error = { message: 'no route', name: 'TypeError', code: 'E_ROUTE', stack: 'at line 1' }
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt({ error })] }])
    assert.deepEqual((await scene.get(holding.id)).attempts[0]?.error, error)
  },
  'an attempt that was recorded is not changed by a second record of it': async (scene) => {
    const holding = await scene.running()
    const first = scene.attempt({ task: 'fetch' })
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [first] }])
    await scene.store.checkpoint([
      { ...memberRef(holding), attempts: [{ ...first, state: 'succeeded' }, scene.attempt({ task: 'fetch', n: 2 })] },
    ])
    const { attempts } = await scene.get(holding.id)
    assert.deepEqual(
      attempts.map(({ n, state }) => [n, state]),
      [
        [1, 'failed'],
        [2, 'failed'],
      ],
    )
  },
  'progress replaces the progress before it': async (scene) => {
    const holding = await scene.running()
    for (const done of [0.25, 0.5]) {
      const progress = { task: 'run', done, message: done === 0.5 ? 'half' : null, at: scene.now }
      await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], progress }])
    }
    assert.deepEqual((await scene.get(holding.id)).progress, { task: 'run', done: 0.5, message: 'half', at: scene.now })
  },
  'a checkpoint without progress leaves the progress as it was': async (scene) => {
    const holding = await scene.running()
    const progress = { task: 'run', done: 0.5, message: null, at: scene.now }
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], progress }])
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()] }])
    assert.deepEqual((await scene.get(holding.id)).progress, progress)
  },
  'a log replaces the one of the same try, and others stay, in the order of turns, tasks and tries': async (scene) => {
    const holding = await scene.running()
    const log = (task: string, n: number, text: string) => ({ turn: 1, task, n, text })
    const item = { ...memberRef(holding), attempts: [] }
    await scene.store.checkpoint([{ ...item, logs: [log('send', 1, '{"a":1}'), log('fetch', 1, '{"b":1}')] }])
    const later = { ...item, logs: [log('send', 1, '{"a":2}'), log('send', 2, '{"c":1}')] }
    assert.deepEqual(await scene.store.checkpoint([later, { ...item, logs: [log('send', 1, '{"a":3}')] }]), ['ok', 'ok'])
    const stored = [log('fetch', 1, '{"b":1}'), log('send', 1, '{"a":3}'), log('send', 2, '{"c":1}')]
    assert.deepEqual((await scene.get(holding.id)).logs, stored)
    await scene.loseNode()
    assert.deepEqual((await scene.get(holding.id)).logs, stored)
  },
  'items are answered each on its own, and a lost one does not undo its neighbours': async (scene) => {
    await scene.join()
    await scene.create({ due: scene.now - 2 })
    await scene.create({ due: scene.now - 1 })
    const holding = await scene.claim()
    const items = [
      { ...memberRef(holding, 0), attempts: [scene.attempt()] },
      { ...forged(holding, { turn: 2 }), attempts: [scene.attempt({ n: 2 })] },
      { ...memberRef(holding, 1), attempts: [scene.attempt()] },
    ]
    assert.deepEqual(await scene.store.checkpoint(items), ['ok', 'lost', 'ok'])
    for (const i of [0, 1]) assert.equal((await scene.get(memberOf(holding, i).record.id)).attempts.length, 1)
  },
  'what was checkpointed comes with the next turn': async (scene) => {
    const holding = await scene.running()
    const attempt = scene.attempt({ task: 'fetch', state: 'succeeded', error: null, result: '7' })
    await scene.store.checkpoint([{ ...memberRef(holding), attempts: [attempt] }])
    await scene.loseNode()
    await scene.clock.advance(1000)
    const member = memberOf(await scene.claim({ node: 'node-2' }))
    assert.deepEqual([member.turn, member.recoveries, member.attempts], [2, 1, [attempt]])
  },
  'a cancel asked for meanwhile does not refuse a checkpoint': async (scene) => {
    const holding = await scene.running()
    await scene.store.cancel({ which: { id: holding.id }, reason: null })
    assert.deepEqual(await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()] }]), ['ok'])
  },
  'rule 9: a recorded start is what a rescue goes by': async (scene) => {
    const holding = await scene.running()
    const start = { startedAt: scene.now, deadlineAt: scene.now + minute }
    assert.deepEqual(await scene.store.checkpoint([{ ...memberRef(holding), attempts: [], start }]), ['ok'])
    await scene.loseNode()
    assert.equal((await scene.get(holding.id)).turns[0]?.startedAt, start.startedAt)
  },
})

const withTransactions = topic(
  'checkpoint',
  {
    'work within the commit gives the result of the last attempt': async (scene) => {
      const holding = await scene.running()
      const attempts = [scene.attempt(), scene.attempt({ n: 2, state: 'succeeded', error: null })]
      assert.deepEqual(await scene.store.checkpoint([{ ...memberRef(holding), attempts, within: () => '{"rows":3}' }]), ['ok'])
      assert.deepEqual(
        (await scene.get(holding.id)).attempts.map(({ result }) => result),
        [null, '{"rows":3}'],
      )
    },
    'work within the commit is given a transaction': async (scene) => {
      const holding = await scene.running()
      let given: unknown
      const within = (tx: unknown) => {
        given = tx
        return null
      }
      await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()], within }])
      assert.ok(given)
    },
    'work that throws undoes its item and its error reaches the caller': async (scene) => {
      const holding = await scene.running()
      const within = () => {
        throw new Error('no room')
      }
      await assert.rejects(scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()], within }]), /no room/)
      const { attempts, state } = await scene.get(holding.id)
      assert.deepEqual([attempts, state], [[], 'running'])
    },
    'work of an attempt that is recorded is not run again, and its result is told': async (scene) => {
      const holding = await scene.running()
      const item = { ...memberRef(holding), attempts: [scene.attempt()] }
      assert.deepEqual(await scene.store.checkpoint([{ ...item, within: () => '{"n":1}' }]), ['ok'])
      const told: unknown[] = []
      const again = { ...item, within: () => assert.fail('must not run'), recorded: (result: string | null) => told.push(result) }
      assert.deepEqual(await scene.store.checkpoint([again]), ['ok'])
      assert.deepEqual(told, ['{"n":1}'])
    },
    'work is not run when the turn is lost': async (scene) => {
      const holding = await scene.running()
      await scene.loseNode()
      const within = () => assert.fail('must not run')
      assert.deepEqual(await scene.store.checkpoint([{ ...memberRef(holding), attempts: [scene.attempt()], within }]), ['lost'])
    },
  },
  'tx',
)

export const checkpointCases = [...anyStore, ...withTransactions]
