import { expect, it, onTestFinished } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { createJobCommands } from '../../src/timers/job-commands.ts'
import { onEachStore } from '../support/each-store.ts'
import { TimersScene } from './scene.ts'

const dueAt = '2026-11-18T03:00:00Z'
const timer = { type: 'ScheduleTimer', tenantId: 'acme', serviceCallId: 'call', dueAt }
const text = (fields: object) => JSON.stringify({ ...timer, ...fields })
const emoji = '🎉'

const carriedOut: Readonly<Record<string, string>> = {
  'ids at their limits': text({ tenantId: 'x'.repeat(100), serviceCallId: 'y'.repeat(200), correlationId: 'z'.repeat(200) }),
  'ids of many bytes at their limits': text({ tenantId: emoji.repeat(50), serviceCallId: emoji.repeat(100) }),
  'ids with the wildcards of brokers': text({ tenantId: 'a.*.>', serviceCallId: '#.*.> $SYS /%' }),
  'ids with the names of properties': text({ tenantId: 'constructor', serviceCallId: '__proto__' }),
  'text direction and joined characters': text({ serviceCallId: 'a\u202eb\u200dc' }),
  'a byte order mark': `\ufeff${text({ serviceCallId: 'bom' })}`,
  'a dueAt with an odd offset': text({ serviceCallId: 'odd', dueAt: '2026-11-18T08:43:59.123456789+05:44' }),
  'a dueAt long ago': text({ serviceCallId: 'ago', dueAt: '0001-01-01T00:00:00Z' }),
  'a dueAt in the year 0': text({ serviceCallId: 'zero', dueAt: '0000-01-01T00:00:00Z' }),
  'other fields': text({ serviceCallId: 'more', __proto__x: 1, constructor: { a: 1 }, nested: [[[[]]]] }),
  'the same field twice': `{"dueAt":"soon",${text({ serviceCallId: 'twice' }).slice(1)}`,
}

const later: Readonly<Record<string, string>> = {
  'the last instant that has a text': text({ serviceCallId: 'last', dueAt: '9999-12-31T23:59:59.999Z' }),
  'the highest version': text({ serviceCallId: 'high', dueAt: '9999-01-01T00:00:00Z', version: Number.MAX_SAFE_INTEGER }),
}

const poison: Readonly<Record<string, string | Uint8Array>> = {
  'no bytes': '',
  'bytes that are no UTF-8': new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
  'a nesting without end': '['.repeat(200_000),
  'a nesting that ends': '['.repeat(100_000) + ']'.repeat(100_000),
  'half a character in an id': '{"type":"ScheduleTimer","tenantId":"a","serviceCallId":"\\ud800","dueAt":"2026-11-18T03:00:00Z"}',
  'a zero in an id': text({ serviceCallId: 'a\0b' }),
  'blank edges of an id': text({ serviceCallId: ' a' }),
  'an id that is a list': text({ serviceCallId: ['a'] }),
  'a 30th of February': text({ dueAt: '2026-02-30T00:00:00Z' }),
  'an instant that an offset moves past the year 9999': text({ dueAt: '9999-12-31T23:59:59.999-23:59' }),
  'a year with six digits': text({ dueAt: '+275760-09-13T00:00:00Z' }),
  'an offset of a hundred hours': text({ dueAt: '2026-11-18T03:00:00+99:59' }),
  'a dueAt that is a number': text({ dueAt: 1_794_970_800_000 }),
  'a correlation id that is an object': text({ correlationId: {} }),
  'a type that is an object': text({ type: {} }),
  'a payload that is none': text({ payload: null }),
  'a CloudEvent without data': text({ specversion: '1.0' }),
  'a name that no store takes as a tenant': text({ tenantId: '__proto__' }).replace('"acme"', '"__proto__"'),
  'a million characters': 'x'.repeat(1_000_000),
}

const forJobs: Readonly<Record<string, string>> = {
  'a payload that is nested too deep': `{"job":"invoice","payload":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
  'a payload with a zero': '{"job":"invoice","payload":"a\\u0000b"}',
  'a payload with half a character': '{"job":"invoice","payload":"\\ud800"}',
  'a payload that is too large': `{"job":"invoice","payload":"${'x'.repeat(300_000)}"}`,
  'a payload with a prototype': '{"job":"invoice","payload":{"__proto__":{"a":1}}}',
  'a number without end': '{"job":"invoice","payload":1e999}',
  'a job that is nothing': '{"job":null,"payload":1}',
  'a key with a zero': '{"job":"invoice","key":"\\u0000"}',
  'options with a prototype': '{"job":"invoice","__proto__":{"tx":1}}',
  'a transaction': '{"job":"invoice","tx":{}}',
  'a priority that is a text': '{"job":"invoice","priority":"high"}',
  'a runAt that never comes': '{"job":"invoice","runAt":"9999-12-31T23:59:59-23:59"}',
  'a delay without end': '{"job":"invoice","delay":1e300}',
}

onEachStore('TS-6 hostile commands', (newDatabase) => {
  it('are carried out or kept as poison, at once, and the next command fires', async () => {
    const scene = await TimersScene.open({}, { store: newDatabase()() })
    const publish = async (body: string | Uint8Array, id: string) => {
      await scene.broker.publish([{ channel: { name: 'timers.commands', kind: 'queue' }, id, body }])
      await scene.settle()
      return scene.timers.metrics
    }
    for (const [what, body] of Object.entries({ ...carriedOut, ...later })) {
      const { created } = scene.timers.metrics.schedulesProcessed
      const { schedulesProcessed, poison, commandsRetried } = await publish(body, what)
      expect([what, schedulesProcessed.created - created, poison, commandsRetried]).toEqual([what, 1, 0, 0])
    }
    for (const [index, [what, body]] of Object.entries(poison).entries())
      expect(await publish(body, what), what).toMatchObject({ poison: index + 1, commandsRetried: 0 })
    await scene.schedule('after', 0)
    expect(scene.firedIds).toHaveLength(Object.keys(carriedOut).length + 1)
    expect(scene.firedIds.at(-1)).toBe('after')
    expect(scene.dead).toHaveLength(Object.keys(poison).length)
    expect(await scene.timers.overview()).toMatchObject({ pending: Object.keys(later).length, dead: 0 })
  })

  it('for jobs are carried out or kept as poison, at once', async () => {
    const scene = await TimersScene.open({}, { store: newDatabase()() })
    scene.punctual.define(defineJob('invoice', () => {}))
    const commands = createJobCommands({ punctual: scene.punctual, broker: scene.broker })
    onTestFinished(() => commands.stop())
    commands.start()
    await scene.settle()
    const handled = async () => {
      const counts = await scene.punctual.counts({ job: 'invoice' })
      return commands.metrics.poison + Object.values(counts).reduce((sum, one) => sum + one, 0)
    }
    for (const [index, [what, body]] of Object.entries(forJobs).entries()) {
      await scene.broker.publish([{ channel: { name: 'jobs.commands', kind: 'queue' }, id: what, body }])
      await scene.clock.advance(100)
      expect([what, await handled(), commands.metrics.commandsRetried]).toEqual([what, index + 1, 0])
    }
  })
})
