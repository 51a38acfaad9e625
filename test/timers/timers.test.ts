import { describe, expect, it, vi } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { memory } from '../../src/store/memory/index.ts'
import { metricsText } from '../../src/timers/metrics-text.ts'
import { faultyStore } from '../support/faulty-store.ts'
import { TimersScene } from './scene.ts'

describe('TS-1 a command', () => {
  it('sets a timer that fires at its due instant, not before', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call-1', 60_000, { correlationId: 'corr-1' })
    await scene.clock.advance(59_999)
    expect(scene.events).toEqual([])
    await scene.clock.advance(1)
    expect(scene.events.map(({ json }) => json)).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        type: 'DueTimeReached',
        tenantId: 'acme',
        correlationId: 'corr-1',
        timestampMs: scene.clock.wall(),
        payload: { tenantId: 'acme', serviceCallId: 'call-1', reachedAt: new Date(scene.clock.wall()).toISOString() },
      },
    ])
  })

  it('that is due already fires at once', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('late', -5000)
    expect(scene.firedIds).toEqual(['late'])
  })

  it('may come in the envelope, or as a CloudEvent, whose tenant must be the same inside', async () => {
    const scene = await TimersScene.open()
    const dueAt = new Date(scene.clock.wall()).toISOString()
    await scene.send({ id: 'e', type: 'ScheduleTimer', tenantId: 'acme', timestampMs: 1, payload: { serviceCallId: 'a', dueAt } })
    await scene.send({
      specversion: '1.0',
      id: 'c',
      source: '/x',
      type: 'com.x.ScheduleTimer',
      tenantid: 'acme',
      data: { serviceCallId: 'b', dueAt },
    })
    expect(scene.firedIds).toEqual(['a', 'b'])
    await scene.send({ type: 'ScheduleTimer', tenantId: 'acme', payload: { tenantId: 'other', serviceCallId: 'c', dueAt } })
    expect(scene.dead).toHaveLength(1)
  })

  it('is not acknowledged while the store is down, and is carried out when it is back', async () => {
    const store = faultyStore(memory())
    const scene = await TimersScene.open({}, { store })
    store.cut()
    await scene.schedule('call-1', 0)
    expect(scene.timers.metrics).toMatchObject({ commandsRetried: 1, schedulesProcessed: { created: 0 } })
    store.heal()
    await scene.clock.advance('1m')
    expect(scene.firedIds).toEqual(['call-1'])
  })

  it('of a backlog is not tried at full speed while the store is down, and the outage is logged once', async () => {
    const store = faultyStore(memory())
    const [info, warn] = [vi.fn(), vi.fn()]
    const scene = await TimersScene.open({ maxInFlight: 10 }, { store, log: { debug() {}, info, warn, error() {} } })
    const commands = Array.from({ length: 1000 }, (_, n) => ({
      tenantId: 'acme',
      serviceCallId: `${n}`,
      dueAt: '2026-11-18T03:00:00Z',
    }))
    store.cut()
    await scene.sendTogether(...commands)
    await scene.clock.advance('9s')
    // Ten at once, each for a second.
    expect(scene.timers.metrics.commandsRetried).toBe(100)
    store.heal()
    await scene.clock.advance('1m')
    expect(scene.firedIds).toHaveLength(1000)
    const lines = (log: typeof warn) => log.mock.calls.filter(([text]) => /stored/.test(text)).map(([text]) => text)
    expect([lines(warn), lines(info)]).toEqual([['Commands cannot be stored and come again'], ['Commands are stored again']])
  })
})

describe('TS-2 one timer for a tenant and a service call', () => {
  it('moves while it is scheduled', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 60_000)
    await scene.schedule('call', 10_000)
    await scene.clock.advance(10_000)
    expect(scene.firedIds).toEqual(['call'])
    await scene.clock.advance(60_000)
    expect(scene.firedIds).toEqual(['call'])
  })

  it('is left alone once it was reached, also after retention', async () => {
    const scene = await TimersScene.open({}, { retention: '1d' })
    await scene.schedule('call', 0)
    await scene.schedule('call', 1000)
    await scene.clock.advance('3d')
    expect(await scene.timers.when('acme', 'call')).toBeNull()
    await scene.schedule('call', 0)
    expect(scene.firedIds).toEqual(['call'])
    expect(scene.timers.metrics.schedulesProcessed).toEqual({ created: 1, moved: 0, ignored: 2, canceled: 0 })
  })

  it('ignores an older version, whatever the order of arrival', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 60_000, { version: 2 })
    await scene.schedule('call', 1000, { version: 1 })
    await scene.clock.advance(1000)
    expect(scene.firedIds).toEqual([])
    await scene.schedule('call', 1000, { version: 3 })
    await scene.clock.advance(1000)
    expect(scene.firedIds).toEqual(['call'])
  })

  it('is the same id in two tenants, which do not touch each other (TS-10)', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 1000)
    await scene.schedule('call', 1000, { tenantId: 'globex' })
    await scene.send({ type: 'CancelTimer', tenantId: 'globex', serviceCallId: 'call' })
    await scene.clock.advance(1000)
    expect(scene.events.map(({ json }) => json.tenantId)).toEqual(['acme'])
  })
})

describe('CancelTimer', () => {
  it('cancels a timer, which may be set again', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 1000)
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call' })
    await scene.clock.advance(2000)
    expect(scene.firedIds).toEqual([])
    await scene.schedule('call', 1000)
    await scene.clock.advance(1000)
    expect(scene.firedIds).toEqual(['call'])
  })

  it('with a version wins over an older command that arrives after it', async () => {
    const scene = await TimersScene.open()
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call', version: 5 })
    await scene.schedule('call', 1000, { version: 4 })
    await scene.clock.advance(2000)
    expect(scene.firedIds).toEqual([])
    await scene.schedule('call', 1000, { version: 6 })
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call', version: 5 })
    await scene.clock.advance(2000)
    expect(scene.firedIds).toEqual(['call'])
  })

  it('may have the version of the command it takes back, and a command of that version does not bring the timer back', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 1000, { version: 5 })
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call', version: 5 })
    await scene.schedule('call', 1000, { version: 5 })
    await scene.clock.advance(2000)
    expect(scene.firedIds).toEqual([])
  })

  it('that comes right after the command it takes back is carried out after it', async () => {
    const scene = await TimersScene.open()
    const timer = { tenantId: 'acme', serviceCallId: 'call' }
    const dueAt = new Date(scene.clock.wall() + 1000).toISOString()
    await scene.sendTogether({ type: 'ScheduleTimer', ...timer, dueAt }, { type: 'CancelTimer', ...timer })
    await scene.clock.advance(2000)
    expect(scene.firedIds).toEqual([])
    await scene.sendTogether({ type: 'CancelTimer', ...timer }, { type: 'ScheduleTimer', ...timer, dueAt })
    expect(scene.firedIds).toEqual(['call'])
  })

  it('of an unknown or a reached timer changes nothing', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 0)
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call', version: 9 })
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'other' })
    expect(scene.timers.metrics.schedulesProcessed).toMatchObject({ canceled: 0, ignored: 2 })
    expect(await scene.timers.when('acme', 'call')).toMatchObject({ state: 'reached' })
  })
})

describe('TS-6 poison', () => {
  const good = { type: 'ScheduleTimer', tenantId: 'acme', serviceCallId: 'x', dueAt: '2026-11-18T03:00:00Z' }
  it.each([
    ['not JSON', '{', /JSON/],
    ['not JSON, with a character that no store keeps', 'a\0b', /JSON/],
    ['not JSON, with a reason that cuts a character', `${'🎉'.repeat(40)}`, /JSON/],
    ['no object', '[]', /object/],
    ['another type', { ...good, type: 'Explode' }, /type must be/],
    ['no tenantId', { ...good, tenantId: undefined }, /tenantId/],
    ['a tenantId over 100 characters', { ...good, tenantId: 'x'.repeat(101) }, /tenantId.*100/],
    ['no serviceCallId', { ...good, serviceCallId: '' }, /serviceCallId/],
    ['a serviceCallId over 200 characters', { ...good, serviceCallId: 'x'.repeat(201) }, /serviceCallId.*200/],
    ['no dueAt', { ...good, dueAt: undefined }, /dueAt/],
    ['a dueAt without an offset', { ...good, dueAt: '2026-11-18T03:00:00' }, /dueAt/],
    ['a version that is no number', { ...good, version: '2' }, /version/],
  ])('%s is terminated, counted and kept with the reason', async (_, message, reason) => {
    const scene = await TimersScene.open()
    await scene.send(message as object)
    expect(scene.timers.metrics).toMatchObject({ commandsReceived: 1, poison: 1 })
    expect(scene.dead.map(({ delivery }) => decodeURIComponent(delivery.headers['punctual-reason'] ?? ''))).toEqual([
      expect.stringMatching(reason),
    ])
    const { poison, poisonCount } = await scene.timers.overview()
    expect(poisonCount).toBe(1)
    expect(poison[0]?.reason).toMatch(reason)
  })

  it('is logged with the id of the message', async () => {
    const error = vi.fn()
    const scene = await TimersScene.open({}, { log: { debug() {}, info() {}, warn() {}, error } })
    await scene.send('nonsense', 'm-1')
    const fields = { channel: 'timers.commands', messageId: 'm-1', reason: expect.stringMatching(/JSON/) }
    expect(error).toHaveBeenCalledWith('A command was terminated', fields)
  })

  it('does not stand in the way of the next command', async () => {
    const scene = await TimersScene.open()
    await scene.send('nonsense')
    await scene.schedule('call', 0)
    expect(scene.firedIds).toEqual(['call'])
  })
})

describe('TS-11 an outage of the broker', () => {
  it('costs no attempt and buries nothing; timers fire when it is over, the oldest first', async () => {
    const scene = await TimersScene.open({}, { concurrency: 1 })
    for (let n = 0; n < 20; n++) await scene.schedule(`call-${String(n).padStart(2, '0')}`, 1000 + n)
    scene.broker.isAway = true
    await scene.clock.advance('10m')
    expect(scene.events).toEqual([])
    // One timer was tried before the outage was known; since then only the broker's health was asked for.
    expect(scene.broker.publishes).toBe(20 + 1)
    expect(await scene.timers.health()).toMatchObject({ isOk: false, firing: { isOk: false } })
    expect(await scene.timers.overview()).toMatchObject({ pending: 20, dead: 0 })
    scene.broker.isAway = false
    await scene.clock.advance('10s')
    expect(scene.firedIds).toEqual(Array.from({ length: 20 }, (_, n) => `call-${String(n).padStart(2, '0')}`))
    const found = await scene.punctual.get({ tenant: 'acme', job: 'punctual/timer', idempotencyKey: 'call-00' })
    expect(found?.turns.map(({ end, startedAt }) => [end, startedAt !== null])).toEqual([
      ['released', false],
      ['completed', true],
    ])
    expect(await scene.timers.health()).toMatchObject({ isOk: true })
  })

  it('leaves commands working, and other work of the node', async () => {
    const ran: unknown[] = []
    const scene = await TimersScene.open({})
    scene.punctual.define(defineJob('other', () => void ran.push(1)))
    await scene.schedule('first', 0)
    scene.broker.isAway = true
    await scene.schedule('call', 0).catch(() => {})
    scene.broker.isAway = false
    await scene.schedule('second', 1000)
    scene.broker.isAway = true
    await scene.clock.advance(5000)
    await scene.punctual.enqueue('other')
    await scene.clock.advance(5000)
    expect(ran).toEqual([1])
  })

  it('is one, too, when no queue takes the events', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 1000)
    scene.broker.isAway = true
    scene.broker.failure = 'unroutable'
    await scene.clock.advance('1h')
    expect(await scene.timers.overview()).toMatchObject({ pending: 1, dead: 0 })
    scene.broker.isAway = false
    await scene.clock.advance('10s')
    expect(scene.firedIds).toEqual(['call'])
  })
})

describe('TS-6 a broker that refuses the events', () => {
  it('buries no timer: they wait until it takes them, and the operator is called', async () => {
    const critical: string[] = []
    const scene = await TimersScene.open({ onCritical: ({ code, message }) => critical.push(`${code} ${message}`) })
    await scene.schedule('call', 1000)
    scene.broker.isAway = true
    scene.broker.failure = 'refused'
    await scene.clock.advance('1h')
    expect(await scene.timers.overview()).toMatchObject({ pending: 1, dead: 0 })
    expect(critical).toEqual(['broker.refused The broker takes no events on timers.events: on purpose'])
    scene.broker.isAway = false
    await scene.clock.advance('10s')
    expect(scene.firedIds).toEqual(['call'])
  })
})

describe('the sides of the service', () => {
  it('fire nothing where only commands are handled', async () => {
    const scene = await TimersScene.open({ side: 'commands' })
    await scene.schedule('call', 0)
    await scene.clock.advance('1m')
    expect(scene.events).toEqual([])
    expect(await scene.timers.overview()).toMatchObject({ pending: 1 })
    expect(await scene.timers.health()).toMatchObject({ isOk: true, firing: null, commands: { isOk: true } })
    // The alert on missing looks is for processes that fire.
    expect(metricsText(scene.timers.metrics)).not.toContain('timer_last_poll_timestamp_seconds')
  })

  it('take no command where only firing is done', async () => {
    const scene = await TimersScene.open({ side: 'firing' })
    await scene.schedule('call', 0)
    expect(scene.timers.metrics.commandsReceived).toBe(0)
    expect(metricsText(scene.timers.metrics)).toContain(`timer_last_poll_timestamp_seconds ${scene.clock.wall() / 1000}`)
    expect(await scene.timers.health()).toMatchObject({ isOk: true, commands: null })
  })
})

describe('TS-13 when will this run?', () => {
  it('is answered over the broker', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 60_000, { version: 3, correlationId: 'c' })
    const ask = async (body: object) => JSON.parse(await scene.broker.request('timers.commands.when', JSON.stringify(body), 1000))
    expect(await ask({ tenantId: 'acme', serviceCallId: 'call' })).toMatchObject({
      state: 'scheduled',
      dueAt: new Date(scene.clock.wall() + 60_000).toISOString(),
      reachedAt: null,
      correlationId: 'c',
      version: 3,
    })
    expect(await ask({ tenantId: 'globex', serviceCallId: 'call' })).toBeNull()
    expect(await ask({ tenantId: 'acme' })).toMatchObject({ error: { code: 'key.invalid' } })
  })
})

describe('TS-4 the envelope', () => {
  it('is CloudEvents 1.0 on request', async () => {
    const scene = await TimersScene.open({ envelope: 'cloudevents' })
    await scene.schedule('call', 0)
    expect(scene.events[0]?.json).toMatchObject({
      specversion: '1.0',
      type: 'punctual.timer.DueTimeReached',
      source: '/punctual/timers',
      subject: 'call',
      tenantid: 'acme',
      data: { tenantId: 'acme', serviceCallId: 'call' },
    })
    expect(scene.events[0]?.delivery.headers['content-type']).toBe('application/cloudevents+json')
  })
})

describe('TS-7 the numbers', () => {
  it('count commands, outcomes, fires, lateness and looks for due timers', async () => {
    const scene = await TimersScene.open()
    await scene.schedule('call', 60_000)
    await scene.schedule('call', 30_000)
    await scene.clock.advance('1m')
    const { metrics } = scene.timers
    expect(metrics).toMatchObject({ commandsReceived: 2, fired: 1, duplicates: 0, schedulesProcessed: { created: 1, moved: 1 } })
    expect(metrics.delay).toMatchObject({ count: 1, sumMs: 30_000 })
    expect(metrics.lateness.count).toBe(1)
    expect(metrics.polling.count).toBeGreaterThan(0)
    expect(metrics.lastPollAt).not.toBeNull()
  })
})

describe('TS-2 versions after retention', () => {
  it('a command that a cancel has overtaken is ignored when the records are gone, and a newer one is not', async () => {
    const scene = await TimersScene.open({}, { retention: '1d' })
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call', version: 5 })
    await scene.clock.advance('3d')
    expect(await scene.timers.when('acme', 'call')).toBeNull()
    await scene.schedule('call', 0, { version: 4 })
    expect(scene.firedIds).toEqual([])
    await scene.schedule('call', 0, { version: 6 })
    expect(scene.firedIds).toEqual(['call'])
  })

  it('a timer that was canceled and set again is still one timer', async () => {
    const scene = await TimersScene.open({}, { retention: '1d' })
    await scene.schedule('call', 60_000)
    await scene.send({ type: 'CancelTimer', tenantId: 'acme', serviceCallId: 'call' })
    await scene.schedule('call', 5 * 86_400_000)
    await scene.clock.advance('3d')
    await scene.schedule('call', 1000)
    await scene.clock.advance('5d')
    expect(scene.firedIds).toEqual(['call'])
  })
})
