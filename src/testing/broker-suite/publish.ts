import assert from 'node:assert/strict'
import type { BrokerDraft } from '../broker-suite.ts'
import { textOf } from './scene.ts'

export const publishCases: readonly BrokerDraft[] = [
  {
    title: 'a message arrives with its id, its headers and its body',
    run: async (scene) => {
      const channel = scene.channel()
      const body = JSON.stringify({ text: 'Zażółć 🚀', large: 'x'.repeat(200_000) })
      const [result] = await scene.broker.publish([{ channel, id: 'a/1', headers: { 'content-type': 'application/json' }, body }])
      assert.deepEqual(result, { ok: true, isDuplicate: false })
      const delivery = await (await scene.inbox(channel)).next()
      assert.equal(delivery.id, 'a/1')
      assert.equal(delivery.headers['content-type'], 'application/json')
      assert.equal(textOf(delivery), body)
      assert.equal(delivery.attempt, 1)
    },
  },
  {
    title: 'a queue keeps messages until a consumer comes, in their order',
    run: async (scene) => {
      const channel = scene.channel()
      await scene.publish(channel, 'one', 'two', 'three')
      assert.deepEqual(await (await scene.inbox(channel, { maxInFlight: 1 })).texts(3), ['one', 'two', 'three'])
    },
  },
  {
    title: 'an id that is published twice is delivered once',
    needs: 'dedupe',
    run: async (scene) => {
      const channel = scene.channel()
      const message = { channel, id: 'same', body: 'first' }
      assert.deepEqual(await scene.broker.publish([message]), [{ ok: true, isDuplicate: false }])
      assert.deepEqual(await scene.broker.publish([{ ...message, body: 'second' }]), [{ ok: true, isDuplicate: true }])
      await scene.publish(channel, 'other')
      assert.deepEqual(await (await scene.inbox(channel)).texts(2), ['first', 'other'])
    },
  },
  {
    title: 'a message that is refused does not hinder its neighbours',
    run: async (scene) => {
      const channel = scene.channel()
      const good = { channel, id: 'good', body: 'good' }
      const results = await scene.broker.publish([
        { channel: { name: 'wild.*', kind: 'queue' }, id: '1', body: '' },
        { ...good, id: 'h', headers: { 'x-message-ttl': '1' } },
        { ...good, id: 'n', headers: { name: 'line\r\nbreak' } },
        { ...good, id: 'c', headers: { CC: 'elsewhere' } },
        { ...good, id: 'm', headers: Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`h${n}`, 'x'.repeat(4096)])) },
        { ...good, id: '' },
        good,
      ])
      assert.deepEqual(
        results.map((result) => (result.ok ? 'ok' : result.reason)),
        ['refused', 'refused', 'refused', 'refused', 'refused', 'refused', 'ok'],
      )
      assert.deepEqual(await (await scene.inbox(channel)).texts(1), ['good'])
    },
  },
  {
    title: 'a message beyond the limit of the server is refused for good, and the connection stays',
    run: async (scene) => {
      const channel = scene.channel()
      const huge = { channel, id: 'huge', body: 'x'.repeat(20_000_000) }
      const [result] = await scene.broker.publish([huge])
      assert.deepEqual(result?.ok === false && result.reason, 'too-large')
      await scene.publish(channel, 'small')
      assert.deepEqual(await (await scene.inbox(channel)).texts(1), ['small'])
    },
  },
  {
    title: 'a thousand messages of one call are all accepted and delivered',
    run: async (scene) => {
      const channel = scene.channel()
      const texts = Array.from({ length: 1000 }, (_, at) => `m-${at}`)
      await scene.publish(channel, ...texts)
      const received = await (await scene.inbox(channel, { maxInFlight: 100 })).texts(1000)
      assert.deepEqual(new Set(received), new Set(texts))
    },
  },
  {
    title: 'each group of a topic gets every message',
    run: async (scene) => {
      const channel = scene.channel('topic')
      const one = await scene.inbox(channel, { group: 'one' })
      const two = await scene.inbox(channel, { group: 'two' })
      await scene.publish(channel, 'a', 'b')
      assert.deepEqual((await one.texts(2)).sort(), ['a', 'b'])
      assert.deepEqual((await two.texts(2)).sort(), ['a', 'b'])
    },
  },
]
