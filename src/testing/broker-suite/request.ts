import assert from 'node:assert/strict'
import type { BrokerDraft } from '../broker-suite.ts'

export const requestCases: readonly BrokerDraft[] = [
  {
    title: 'a request is answered by one member of the group',
    run: async (scene) => {
      const { name } = scene.channel()
      let answers = 0
      const answer = async (body: string) => {
        answers++
        return `${body}!`
      }
      const consumers = [await scene.broker.respond(name, 'g', answer)]
      const other = await scene.another()
      consumers.push(await other.respond(name, 'g', answer))
      assert.equal(await scene.broker.request(name, 'hello', 10_000), 'hello!')
      assert.equal(answers, 1)
      await Promise.all(consumers.map((consumer) => consumer.close()))
    },
  },
  {
    title: 'a request that nothing answers fails',
    run: async (scene) => {
      await assert.rejects(scene.broker.request(scene.channel().name, 'hello', 300), { code: 'broker.unreachable' })
    },
  },
]
