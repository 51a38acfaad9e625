import { describe, expect, it } from 'vitest'
import { createPunctual, type Punctual } from '../../src/client/punctual.ts'
import { PunctualError } from '../../src/errors.ts'
import { defineJob } from '../../src/model/definition.ts'
import { cron } from '../../src/schedule/cron.ts'
import { memory } from '../../src/store/memory/index.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'

const long = 'x'.repeat(201)
const job = defineJob('known').task('only', () => 1)
const strict = defineJob('strict', {
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value === 'number' ? { value } : { issues: [{ message: 'must be a number', path: ['amount'] }] },
    },
  },
}).task('only', () => 1)

/** A call that is refused, with the field that the message must name. */
type Refusal = readonly [field: string, given: string, call: (punctual: Punctual) => unknown]

const deep = (levels: number): unknown => (levels === 0 ? 1 : { in: deep(levels - 1) })
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic

const enqueue = (payload: unknown, options?: unknown) => (punctual: Punctual) => punctual.enqueue(job, payload, options as never)
const any = (value: unknown) => value as never

function fail(thrown: unknown): never {
  throw thrown
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const enqueueRefusals: Refusal[] = [
  ['job', 'an empty name', (punctual) => punctual.enqueue('')],
  ['job', 'a name that is too long', (punctual) => punctual.enqueue('x'.repeat(101))],
  ['job', 'a number for a name', (punctual) => punctual.enqueue(any(7), any(1))],
  ['job', 'nothing', (punctual) => punctual.enqueue(any(undefined), any(1))],
  ['job', 'a name with a control character', (punctual) => punctual.enqueue('a\u0000b')],
  ['job', 'a reserved name', (punctual) => punctual.enqueue('__proto__')],
  [
    'concurrency.key of job "x" threw',
    'a limit key function that throws a revoked proxy',
    (punctual) => punctual.enqueue(defineJob('x', { concurrency: { key: () => fail(revoked()), limit: 1 } }, () => 1)),
  ],
  [
    'concurrency.key of job "x"',
    'a limit key function that returns a revoked proxy',
    (punctual) => punctual.enqueue(defineJob('x', { concurrency: { key: () => any(revoked()), limit: 1 } }, () => 1)),
  ],
  ['options', 'null for options', enqueue(1, null)],
  ['options', 'a text for options', enqueue(1, 'soon')],
  ['runat', 'an option that is not one', enqueue(1, { runat: '5m' })],
  ['key', 'an empty key', enqueue(1, { key: '' })],
  ['key', 'a blank key', enqueue(1, { key: ' ' })],
  ['key', 'a key that is too long', enqueue(1, { key: long })],
  ['key', 'a key that is no text', enqueue(1, { key: 7 })],
  ['delay', 'a duration that is none', enqueue(1, { delay: 'soon' })],
  ['delay', 'a negative duration', enqueue(1, { delay: -1 })],
  ['delay', 'an endless duration', enqueue(1, { delay: Number.POSITIVE_INFINITY })],
  ['delay', 'null for a delay', enqueue(1, { delay: null })],
  ['delay', 'a delay and an instant', enqueue(1, { delay: '1m', runAt: '2026-01-01T00:00:00Z' })],
  ['delay', 'a duration as an instant', enqueue(1, { runAt: '15m' })],
  ['runAt', 'a number that can only be an epoch', enqueue(1, { runAt: Date.now() + 900_000 })],
  ['runAt', 'an invalid date', enqueue(1, { runAt: new Date(Number.NaN) })],
  ['runAt', 'an instant that is none', enqueue(1, { runAt: '2026-13-45T00:00:00Z' })],
  ['runAt', 'null', enqueue(1, { runAt: null })],
  ['runAt', 'an object', enqueue(1, { runAt: {} })],
  ['tenant', 'an empty tenant', enqueue(1, { tenant: '' })],
  ['tenant', 'a tenant that is no text', enqueue(1, { tenant: 5 })],
  ['entity', 'an entity that is too long', enqueue(1, { entity: long })],
  ['entity', 'an entity that is no text', enqueue(1, { entity: 42 })],
  ['refs', 'refs that are a list', enqueue(1, { refs: ['a'] })],
  ['refs', 'refs that are null', enqueue(1, { refs: null })],
  ['refs.order', 'a ref that is no text', enqueue(1, { refs: { order: 42 } })],
  ['ref', 'a ref with a reserved name', enqueue(1, { refs: JSON.parse('{"__proto__":"x"}') })],
  ['refs', 'too many refs', enqueue(1, { refs: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`r${at}`, 'x'])) })],
  ['priority', 'a priority over 9', enqueue(1, { priority: 10 })],
  ['priority', 'a priority below 0', enqueue(1, { priority: -1 })],
  ['priority', 'half a priority', enqueue(1, { priority: 1.5 })],
  ['priority', 'a text for a priority', enqueue(1, { priority: 'high' })],
  ['unique', 'a kind of key by another option', enqueue(1, { key: 'k', unique: 'live' })],
  ['idempotencyKey', 'an empty idempotency key', enqueue(1, { idempotencyKey: '' })],
  ['idempotencyKey', 'an idempotency key that is no text', enqueue(1, { idempotencyKey: 7 })],
  ['key', 'keys of both kinds', enqueue(1, { key: 'k', idempotencyKey: 'k' })],
  ['onConflict', 'an unknown answer to conflicts', enqueue(1, { key: 'k', onConflict: 'explode' })],
  ['retry.max', 'a negative number of retries', enqueue(1, { retry: { max: -1 } })],
  ['retry', 'an unknown option of retry', enqueue(1, { retry: { maximum: 1 } })],
  ['retry', 'a retry that is a number', enqueue(1, { retry: 3 })],
  ['retry.factor', 'a factor below 1', enqueue(1, { retry: { factor: 0.5 } })],
  ['retry.jitter', 'a jitter over 1', enqueue(1, { retry: { jitter: 2 } })],
  ['retry.interval', 'an interval that is none', enqueue(1, { retry: { interval: 'often' } })],
  ['retry.strategy', 'an unknown strategy', enqueue(1, { retry: { strategy: 'hope' } })],
  ['retry.strategy', 'a function, which cannot be stored', enqueue(1, { retry: { strategy: () => 1 } })],
  ['timeout', 'a timeout that is none', enqueue(1, { timeout: 'P1Y' })],
  ['timeout', 'no time at all', enqueue(1, { timeout: 0 })],
  ['startWithin', 'no time to start in', enqueue(1, { startWithin: 0 })],
  ['executionTimeout', 'no time at all for a turn', enqueue(1, { executionTimeout: '0s' })],
  ['rate.per', 'a rate per no time', enqueue(1, { rate: { key: 'api', limit: 1, per: 0 } })],
  ['punctual/', 'a built-in name', (punctual) => punctual.enqueue('punctual/backfill', {})],
  ['punctual/', 'a built-in name in bulk', (punctual) => punctual.enqueueMany([{ job: 'punctual/replay', payload: {} }])],
  ['punctual/', 'a trigger of a built-in name', (punctual) => punctual.trigger('punctual/replay')],
  ['onFailure', 'an unknown failure strategy', enqueue(1, { onFailure: 'ignore' })],
  ['executionTimeout', 'an execution timeout that is none', enqueue(1, { executionTimeout: {} })],
  ['deadLetter', 'a dead letter that is no truth', enqueue(1, { deadLetter: 'yes' })],
  ['payload', 'a function', enqueue(() => 1)],
  ['payload', 'a bigint', enqueue(1n)],
  ['payload', 'not a number', enqueue(Number.NaN)],
  ['payload', 'a symbol', enqueue(Symbol('x'))],
  ['payload.at', 'a Date', enqueue({ at: new Date(0) })],
  ['payload', 'a Map', enqueue(new Map())],
  ['payload.list[1]', 'undefined inside', enqueue({ list: [1, undefined] })],
  ['payload', '__proto__', enqueue(JSON.parse('{"__proto__":{"admin":true}}'))],
  ['payload', 'constructor.prototype', enqueue({ constructor: { prototype: {} } })],
  ['payload', 'what is nested too deep', enqueue(deep(40))],
  ['payload', 'what holds itself', enqueue(cyclic)],
  ['payload', 'what is too large', enqueue('x'.repeat(256 * 1024))],
  ['payload', 'a NUL', enqueue('a\u0000b')],
  ['payload', 'half a surrogate pair', enqueue('\ud800')],
  ['payload.amount', 'what the schema refuses', (punctual) => punctual.enqueue(strict, any('x'))],
  ['payload.amount', 'what the schema refuses, by name', (punctual) => punctual.enqueue('strict', 'x')],
  [
    'key',
    'one bad request among good ones',
    (punctual) =>
      punctual.enqueueMany([
        { job, payload: 1 },
        { job, payload: 2, key: '' },
      ]),
  ],
  ['requests[1]', 'a request that is null', (punctual) => punctual.enqueueMany([{ job }, any(null)])],
  [
    'enqueue of job "known"',
    'an option that only a later request has',
    (punctual) => punctual.enqueueMany([{ job }, any({ job, prio: 1 })]),
  ],
  [
    'requests[1]: The payload of job "strict"',
    'a payload that the schema refuses in a later request',
    (punctual) => punctual.enqueueMany([{ job }, any({ job: strict, payload: 'x' })]),
  ],
  ['requests[0]', 'a request that is a text', (punctual) => punctual.enqueueMany([any('known')])],
]

const scheduleRefusals: Refusal[] = [
  ['update', 'no change', (punctual) => punctual.update('known', any(undefined))],
  ['update', 'a number for a change', (punctual) => punctual.update('known', any(7))],
  ['update', 'a list for a change', (punctual) => punctual.update('known', any([]))],
  [
    'allowed are schedule, payload, enabled, retry',
    'an unknown field',
    (punctual) => punctual.update('known', any({ update: 1 })),
  ],
  ['backfill', 'no options for a backfill', (punctual) => punctual.backfill('known', any(undefined))],
  ['explain', 'nothing to explain', (punctual) => punctual.explain(any(undefined))],
  ['explain', 'a number to explain', (punctual) => punctual.explain(any(7))],
  ['definition', 'an unknown definition', (punctual) => punctual.schedule('stranger', cron('0 0 * * *'))],
  ['schedule', 'a text for a schedule', (punctual) => punctual.schedule(job, any('0 0 * * *'))],
  ['schedule', 'no schedule', (punctual) => punctual.schedule(job, any(null))],
  ['schedule', 'one that never fires', (punctual) => punctual.schedule(job, cron('0 0 31 2 *'))],
  ['name', 'an empty name', (punctual) => punctual.schedule(job, cron('0 0 * * *'), { name: '' })],
  ['tenant', 'an empty tenant', (punctual) => punctual.schedule(job, cron('0 0 * * *'), { tenant: '' })],
  ['every', 'an unknown option', (punctual) => punctual.schedule(job, cron('0 0 * * *'), any({ every: 5 }))],
  ['options', 'null for options', (punctual) => punctual.schedule(job, cron('0 0 * * *'), any(null))],
  ['payload', 'a payload that is not JSON', (punctual) => punctual.schedule(job, cron('0 0 * * *'), { payload: 1n })],
  ['payload', 'a payload that the schema refuses', (punctual) => punctual.schedule(strict, cron('0 0 * * *'), any({}))],
  ['priority', 'a wrong priority', (punctual) => punctual.schedule(job, cron('0 0 * * *'), { priority: 99 })],
  ['mode', 'a wrong mode', (punctual) => punctual.schedule(job, cron('0 0 * * *'), { mode: any('random') })],
  [
    'retry.strategy',
    'a function, which cannot be stored',
    (punctual) => punctual.schedule(job, cron('0 0 * * *'), { retry: { strategy: () => 1 } }),
  ],
]

const targetRefusals: Refusal[] = (['get', 'cancel', 'retry', 'discard'] as const).flatMap((verb): Refusal[] => {
  const call = (target: unknown) => (punctual: Punctual) => punctual[verb](any(target))
  return [
    ['id', `${verb} of an empty id`, call('')],
    ['target', `${verb} of null`, call(null)],
    ['target', `${verb} of nothing`, call(undefined)],
    ['target', `${verb} of a number`, call(7)],
    ['the definition of job "known"', `${verb} of a definition`, call(job)],
    ['an object without job', `${verb} of an object without a job`, call({ key: 'k' })],
    ['key', `${verb} without a key`, call({ job: 'known' })],
    ['tenant', `${verb} with a wrong tenant`, call({ job: 'known', key: 'k', tenant: '' })],
    ['key', `${verb} with keys of both kinds`, call({ job: 'known', key: 'k', idempotencyKey: 'k' })],
    ['id', `${verb} with an unknown field`, call({ job: 'known', key: 'k', id: 'x' })],
  ]
})

const otherRefusals: Refusal[] = [
  ['entity', 'cancel of an entity that is none', (punctual) => punctual.cancel({ job, entity: '' })],
  ['tenant', 'cancel of an entity in no tenant', (punctual) => punctual.cancel({ job, entity: 'e', tenant: '' })],
  ['when', 'cancel of an entity with an unknown field', (punctual) => punctual.cancel(any({ job, entity: 'e', when: 1 }))],
  ['reason', 'cancel with a reason that is no text', (punctual) => punctual.cancel('x', { reason: any(7) })],
  ['why', 'cancel with an unknown option', (punctual) => punctual.cancel('x', any({ why: 'x' }))],
  ['options', 'cancel with null for options', (punctual) => punctual.cancel('x', any(null))],
  ['job', 'trigger of an empty name', (punctual) => punctual.trigger('')],
  ['stranger', 'trigger of an unknown job', (punctual) => punctual.trigger('stranger')],
  ['when', 'trigger with an unknown option', (punctual) => punctual.trigger(job, any({ when: 1 }))],
  ['key', 'trigger with an empty key', (punctual) => punctual.trigger(job, { key: '' })],
  ['tenant', 'trigger in no tenant', (punctual) => punctual.trigger(job, { tenant: '' })],
  ['payload', 'trigger with a payload that is not JSON', (punctual) => punctual.trigger(job, { payload: () => 1 })],
  ['time', 'reschedule to no time', (punctual) => punctual.reschedule('x', any('soon'))],
  ['time', 'reschedule to nothing', (punctual) => punctual.reschedule('x', any(undefined))],
  ['delay', 'reschedule to neither', (punctual) => punctual.reschedule('x', {})],
  ['for', 'pause for no duration', (punctual) => punctual.pause(job, { for: any('soon') })],
  ['until', 'pause until an instant and for a while', (punctual) => punctual.pause(job, { until: new Date(), for: '1h' })],
  ['stranger', 'pause of an unknown job', (punctual) => punctual.pause('stranger')],
  ['stranger', 'pause of an unknown job of a tenant', (punctual) => punctual.pause({ tenant: 'acme', job: 'stranger' })],
  ['stranger', 'resume of an unknown job', (punctual) => punctual.resume('stranger')],
  ['runAt', 'retry at no time', (punctual) => punctual.retry('x', { runAt: any('soon') })],
  ['when', 'retry with an unknown option', (punctual) => punctual.retry('x', any({ when: 1 }))],
  ['why', 'discard with an unknown option', (punctual) => punctual.discard('x', any({ why: 1 }))],
  ['limit', 'list without a limit', (punctual) => punctual.list({ limit: 0 })],
  ['limit', 'list with too high a limit', (punctual) => punctual.list({ limit: 501 })],
  ['state', 'list of an unknown state', (punctual) => punctual.list({ state: any('sleeping') })],
  ['state', 'list of states that are a number', (punctual) => punctual.list({ state: any(5) })],
  ['cursor', 'list from a cursor that is none', (punctual) => punctual.list({ cursor: 'abc' })],
  ['from', 'list from no instant', (punctual) => punctual.list({ from: any('yesterday') })],
  ['to', 'list to no instant', (punctual) => punctual.list({ to: any(5) })],
  ['status', 'list with an unknown filter', (punctual) => punctual.list(any({ status: 'pending' }))],
  ['list', 'list with null', (punctual) => punctual.list(any(null))],
  ['tenant', 'counts in no tenant', (punctual) => punctual.counts({ tenant: '' })],
  ['state', 'counts with an unknown filter', (punctual) => punctual.counts(any({ state: 'pending' }))],
  ['counts', 'counts with null', (punctual) => punctual.counts(any(null))],
  ['job', 'status of an empty name', (punctual) => punctual.status('')],
  ['stranger', 'status of an unknown job', (punctual) => punctual.status('stranger')],
  ['tenant', 'status in no tenant', (punctual) => punctual.status(job, { tenant: '' })],
  ['team', 'status with an unknown option', (punctual) => punctual.status(job, any({ team: 'x' }))],
  ['limit', 'jobs without a limit', (punctual) => punctual.jobs({ limit: 0 })],
  ['page', 'jobs with an unknown option', (punctual) => punctual.jobs(any({ page: 2 }))],
  ['limit', 'runDue without a limit', (punctual) => punctual.runDue({ limit: 0 })],
  ['now', 'runDue at no instant', (punctual) => punctual.runDue({ now: any('now') })],
  ['max', 'runDue with an unknown option', (punctual) => punctual.runDue(any({ max: 5 }))],
  ['grace', 'stop with a grace that is none', (punctual) => punctual.stop({ grace: 'a while' })],
  ['wait', 'stop with an unknown option', (punctual) => punctual.stop(any({ wait: 5 }))],
  ['job', 'recent of an empty name', (punctual) => punctual.recent('')],
  ['team', 'recent with an unknown option', (punctual) => punctual.recent(job, any({ team: 'x' }))],
  ['event', 'on for an unknown event', (punctual) => punctual.on(any('occurrence.finished'), () => {})],
  ['listener', 'on without a listener', (punctual) => punctual.on('occurrence.completed', any(undefined))],
  ['definition', 'define of what is no definition', (punctual) => punctual.define(any({ name: 'x' }))],
  ['handler', 'handle without a handler', (punctual) => punctual.handle('other', any(undefined))],
  ['handler', 'handle of a task without a handler', (punctual) => punctual.handle('other', 'task', any(7))],
  ['task', 'handle of an empty task', (punctual) => punctual.handle('other', '', () => 1)],
]

const createRefusals: readonly [field: string, given: string, options: unknown][] = [
  ['store', 'nothing', undefined],
  ['createPunctual', 'null', null],
  ['store', 'a text for a store', { store: 'memory:' }],
  ['stroe', 'an unknown option', { store: memory(), stroe: 1 }],
  ['jobs', 'jobs that are no list', { store: memory(), jobs: job }],
  ['jobs[1]', 'a job that is a plain object', { store: memory(), jobs: [job, { name: 'x' }] }],
  ['handlers', 'handlers that are a list', { store: memory(), handlers: [] }],
  ['handlers', 'handlers that are null', { store: memory(), handlers: null }],
  ['handlers', 'a handler that is a text', { store: memory(), handlers: { a: 'x' } }],
  ['handlers', 'a handler that is null', { store: memory(), handlers: { a: null } }],
  ['handler', 'a task handler that is a number', { store: memory(), handlers: { a: { b: 1 } } }],
  ['only', 'a handler beside that of the definition', { store: memory(), jobs: [job], handlers: { known: () => 2 } }],
  [
    'only',
    'a task handler beside that of the definition',
    { store: memory(), jobs: [job], handlers: { known: { only: () => 2 } } },
  ],
  ['name', 'an empty name', { store: memory(), name: '' }],
  ['concurrency', 'no concurrency', { store: memory(), concurrency: 0 }],
  ['concurrency', 'a concurrency that is a text', { store: memory(), concurrency: '5' }],
  ['claimLimit', 'half a limit', { store: memory(), claimLimit: 0.5 }],
  ['poll', 'a poll that is none', { store: memory(), poll: 'often' }],
  ['poll', 'a poll that is too short', { store: memory(), poll: 1 }],
  ['node', 'times of nodes that are a number', { store: memory(), node: 5 }],
  ['beat', 'an unknown time of nodes', { store: memory(), node: { beat: '5s' } }],
  ['node.heartbeat', 'a heartbeat that is none', { store: memory(), node: { heartbeat: null } }],
  ['node.timeout', 'a timeout shorter than two heartbeats', { store: memory(), node: { heartbeat: '5s', timeout: '9s' } }],
  ['node.checkInterval', 'an interval that is none', { store: memory(), node: { checkInterval: {} } }],
  ['retireOrphans', 'a text for a truth', { store: memory(), retireOrphans: 'yes' }],
  ['grace', 'a negative grace', { store: memory(), grace: -1 }],
  ['node.abandonAfter', 'a time that is none', { store: memory(), node: { abandonAfter: 'x' } }],
  ['retention', 'a retention by the calendar', { store: memory(), retention: 'P1M' }],
  ['keyRetention', 'a key retention that is none', { store: memory(), keyRetention: [] }],
  ['log', 'a log that cannot log', { store: memory(), log: { info: () => {} } }],
  ['clock', 'a clock that has no time', { store: memory(), clock: {} }],
  ['random', 'a random that is a number', { store: memory(), random: 4 }],
  ['retry', 'a wrong setting', { store: memory(), retry: { max: 'many' } }],
  ['maxConcurrentJobs', 'a name that another system has', { store: memory(), maxConcurrentJobs: 5 }],
]

const defineRefusals: Refusal[] = [
  ['name', 'a job without a name', () => defineJob('')],
  ['name', 'a job of a reserved name', () => defineJob('__proto__')],
  ['timeuot', 'an unknown option', () => defineJob('x', any({ timeuot: 1 }))],
  ['payload', 'a schema that is none', () => defineJob('x', { payload: any({}) })],
  ['schedule', 'a schedule that is a text', () => defineJob('x', { schedule: any('* * * * *') })],
  [
    'needs a payload',
    'a schedule beside a schema that needs a payload',
    () => defineJob('x', { schedule: cron('0 0 * * *'), payload: strict.options.payload as never }),
  ],
  ['timeout', 'no time at all', () => defineJob('x', { timeout: 0 })],
  ['startWithin', 'no time to start in', () => defineJob('x', { startWithin: 0 })],
  ['onStart', 'a hook that is a text', () => defineJob('x', { onStart: any('run') })],
  ['retry.max', 'a wrong setting', () => defineJob('x', { retry: { max: 1.5 } })],
  ['name', 'a task without a name', () => defineJob('x').task(any(''), () => 1)],
  ['name', 'a task of a reserved name', () => defineJob('x').task(any('__proto__'), () => 1)],
  ['after', 'an unknown predecessor', () => defineJob('x', { mode: 'graph' }).task('a', any({ after: ['b'] }), () => 1)],
  ['after', 'a task that waits for itself', () => defineJob('x', { mode: 'graph' }).task('a', any({ after: ['a'] }), () => 1)],
  [
    'after of task "b" of job "x" needs mode: \'graph\'',
    'a predecessor where tasks run one after the other',
    () =>
      defineJob('x')
        .task('a', () => 1)
        .task('b', any({ after: ['a'] }), () => 1),
  ],
  ['concurrency', 'a limit of no occurrence', () => defineJob('x', { concurrency: 0 })],
  ['concurrency.key', 'a limit key that is a number', () => defineJob('x', { concurrency: { key: any(5), limit: 1 } })],
  [
    'has a schedule and needs a payload',
    'a schema that throws where there is no payload, beside a schedule',
    () =>
      defineJob('x', {
        schedule: cron('0 0 * * *'),
        payload: { '~standard': { version: 1, vendor: 'test', validate: () => fail(revoked()) } },
      }),
  ],
  [
    'concurrency.key of job "x" threw',
    'a limit key that needs a payload beside a schedule',
    () => defineJob<{ a: string }>('x', { schedule: cron('0 0 * * *'), concurrency: { key: ({ a }) => a, limit: 1 } }),
  ],
  [
    'after',
    'predecessors that are a text',
    () =>
      defineJob('x')
        .task('a', () => 1)
        .task('b', any({ after: 'a' }), () => 1),
  ],
  [
    'a',
    'a task twice',
    () =>
      defineJob('x')
        .task('a', () => 1)
        .task(any('a'), () => 1),
  ],
  [
    'defineJob(name, options, handler)',
    'options after the handler',
    () =>
      defineJob(
        'x',
        any(() => 1),
        any({ retry: { max: 1 } }),
      ),
  ],
  [
    'task(name, options, handler)',
    'options of a task after its handler',
    () =>
      defineJob('x').task(
        'a',
        any(() => 1),
        any({}),
      ),
  ],
  ['handler', 'a handler that is a text', () => defineJob('x').task('a', {}, any('run'))],
  ['priority', 'a setting that a task does not have', () => defineJob('x').task('a', any({ priority: 1 }), () => 1)],
]

/** A store that notes every write. */
function watched(): { store: Store; writes: string[] } {
  const writes: string[] = []
  const verbs = ['putJob', 'plan', 'create', 'claim', 'checkpoint', 'settle', 'cancel', 'move', 'beat']
  const store = new Proxy(memory(), {
    get(target, name) {
      const value = target[name as keyof Store]
      if (typeof value !== 'function') return value
      return (...given: unknown[]) => {
        if (verbs.includes(name as string)) writes.push(name as string)
        return (value as (...args: unknown[]) => unknown).apply(target, given)
      }
    },
  })
  return { store, writes }
}

async function refusalOf(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return error
  }
}

describe('bad input gets a PunctualError that names the field, and nothing is written', () => {
  it.each([...enqueueRefusals, ...scheduleRefusals, ...targetRefusals, ...otherRefusals])('%s: %s', async (field, _, call) => {
    const { store, writes } = watched()
    const punctual = createPunctual({ store, clock: manualClock(), jobs: [job, strict] })
    const refusal = await refusalOf(() => call(punctual))
    expect(refusal).toBeInstanceOf(PunctualError)
    expect((refusal as PunctualError).message).toContain(field)
    expect(writes).toEqual([])
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  it.each(createRefusals)('createPunctual, %s: %s', async (field, _, options) => {
    const refusal = await refusalOf(() => createPunctual(options as never))
    expect(refusal).toBeInstanceOf(PunctualError)
    expect((refusal as PunctualError).message).toContain(field)
  })

  it('createPunctual names each option it allows once', async () => {
    const { message } = (await refusalOf(() => createPunctual({ stroe: memory() } as never))) as PunctualError
    const names = message.slice(message.indexOf('allowed are ') + 'allowed are '.length).split(', ')
    expect(names).toContain('concurrency')
    expect(names).toEqual([...new Set(names)])
  })

  it.each(defineRefusals)('defineJob, %s: %s', async (field, _, call) => {
    const refusal = await refusalOf(() => call(undefined as never))
    expect(refusal).toBeInstanceOf(PunctualError)
    expect((refusal as PunctualError).message).toContain(field)
  })

  it('a closed scheduler refuses everything', async () => {
    const punctual = createPunctual({ store: memory(), clock: manualClock(), jobs: [job] })
    await punctual.close()
    for (const call of [
      () => punctual.enqueue(job, 1),
      () => punctual.start(),
      () => punctual.list(),
      () => punctual.cancel('x'),
      () => punctual.runDue(),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'punctual.closed' })
  })
})
