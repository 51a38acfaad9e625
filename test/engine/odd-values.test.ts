import { runInNewContext } from 'node:vm'
import { expect, it, vi } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { newCluster, occurrence } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

const circular: Record<string, unknown> = Object.create(null)
circular.self = circular

const text = () => {
  throw new Error('no text')
}

const hostile = () => new Proxy({}, new Proxy({}, { get: () => text }))

const revoked = (target = {}) => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const oddErrors: Record<string, () => unknown> = {
  'an Error without a message': () => Object.assign(new Error(), { message: undefined }),
  'an Error whose stack is no text': () => Object.assign(new Error('x'), { stack: {} }),
  'an Error with a symbol as name': () => Object.assign(new Error('x'), { name: Symbol('odd') }),
  'a circular object without a prototype': () => circular,
  'a value whose toString throws': () => ({ toString: text, toJSON: text }),
  undefined: () => undefined,
  'a proxy that throws at everything': () => hostile(),
  'a proxy that was revoked': () => revoked(),
  'an Error whose cause and errors are such proxies': () =>
    Object.assign(new AggregateError([hostile(), revoked()], 'many', { cause: hostile() }), { code: revoked() }),
  'an Error whose list of errors is a revoked proxy': () => Object.assign(new Error('many'), { errors: revoked([]) }),
}

const oddResults: Record<string, () => unknown> = {
  'a getter that throws': () => ({
    get total() {
      throw new Error('no total')
    },
  }),
  'a proxy that throws at everything': () => hostile(),
  'a proxy that was revoked': () => ({ inside: revoked() }),
  'a bigint': () => ({ rows: [1n] }),
  'a cycle': () => circular,
  'a thenable whose then throws': () => ({
    // biome-ignore lint/suspicious/noThenProperty: this is what is tested
    get then() {
      throw new Error('no then')
    },
  }),
  'a promise whose constructor throws': () =>
    Object.defineProperty(Promise.resolve(1), 'constructor', {
      get() {
        throw new Error('no constructor')
      },
    }),
}

onEachStore('Whatever user code throws or returns ends as a recorded attempt', (newDatabase) => {
  it.each(Object.keys(oddErrors))('%s as what is thrown', async (name) => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('odd', { retry: { max: 0 } }).task('only', () => {
      throw oddErrors[name]?.()
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.failed')
    const { state, tasks } = await occurrence(punctual, id)
    expect([state, tasks[0]?.attempts.map((attempt) => attempt.state)]).toEqual(['dead', ['failed']])
    expect(typeof tasks[0]?.attempts[0]?.error?.message).toBe('string')
  })

  it.each(Object.keys(oddResults))('%s as what is returned', async (name) => {
    const { node } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('odd', { retry: { max: 0 } }).task('only', () => {
      runs++
      return oddResults[name]?.() as never
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.failed')
    expect((await occurrence(punctual, id)).tasks[0]?.attempts.map(({ state }) => state)).toEqual(['failed'])
    expect(runs).toBe(1)
  })

  it('a result that JSON cannot hold is not tried again, and the error says where it is and that the work was done', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('odd', { retry: { max: 3 } }).task('only', () => ({ rows: [{ id: 1 }, { id: 2n }] }))
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.failed')
    expect((await occurrence(punctual, id)).error?.message).toMatch(
      /^result\.rows\[1\]\.id cannot be written as JSON: it is a bigint\. The handler had finished its work/,
    )
  })

  it('a Date, undefined and toJSON in a result are recorded as JSON.stringify does, and so seen by the next task', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const row = { id: 7, at: new Date(0), note: undefined, url: new URL('http://localhost/') }
    const job = defineJob('rows')
      .task('read', () => [row])
      .task('use', ({ results }) => results.read)
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect((await occurrence(punctual, id)).result).toEqual([{ id: 7, at: '1970-01-01T00:00:00.000Z', url: 'http://localhost/' }])
  })

  it('the causes of an error are kept, also of another realm', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('odd', { retry: { max: 0 } }).task('only', () => {
      throw new AggregateError([new Error('one')], 'all', { cause: runInNewContext("new RangeError('far away')") })
    })
    const { punctual, probe } = await node({ jobs: [job] })
    const { id } = await punctual.enqueue(job, undefined)
    await probe.next('occurrence.failed')
    expect((await occurrence(punctual, id)).error).toMatchObject({
      message: 'all',
      cause: { message: 'far away', name: 'RangeError' },
      errors: [{ message: 'one' }],
    })
  })

  it('a listener that throws or rejects is logged, and changes nothing', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('quick').task('only', () => 1)
    const { punctual, probe, log } = await node({ jobs: [job] })
    punctual.on('task.started', async () => {
      throw Object.assign(new Error('async'), { name: Symbol('odd') })
    })
    punctual.on('task.succeeded', () => {
      throw new Error('at once')
    })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(log.map(({ message, fields }) => [message, fields])).toEqual([
      ['A listener of task.started threw', { error: 'async' }],
      ['A listener of task.succeeded threw', { error: 'at once' }],
    ])
  })

  it('a field of a log line that cannot be read costs the fields, not the attempt', async () => {
    const { node } = newCluster({ connect: newDatabase() })
    const job = defineJob('talks').task('only', (ctx) => {
      ctx.log.info('a line', Object.defineProperty({}, 'odd', { enumerable: true, get: text }))
      return 'done'
    })
    const { punctual, probe, log } = await node({ jobs: [job] })
    await punctual.enqueue(job, undefined)
    await probe.next('occurrence.completed')
    expect(log).toMatchObject([{ message: 'a line', fields: { job: 'talks', unreadable: 'no text' } }])
  })

  it.each(['throws', 'rejects'])('a log that %s leaves no job running, and the line goes to standard error', async (how) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      const fail = () => {
        if (how === 'throws') throw new Error('no log')
        return Promise.reject(new Error('no log')) as never
      }
      const { node } = newCluster({ connect: newDatabase() })
      const job = defineJob('talks', { onComplete: () => text(), retry: { max: 0, strategy: text } }).task('only', (ctx) => {
        ctx.log.error('a line', { n: 1 })
        return 'done'
      })
      const { punctual, probe } = await node({
        jobs: [job],
        log: { debug: fail, info: fail, warn: fail, error: fail },
      })
      const { id } = await punctual.enqueue(job, undefined)
      await probe.next('occurrence.completed')
      expect((await occurrence(punctual, id)).state).toBe('completed')
      expect(written.mock.calls.map(([line]) => JSON.parse(String(line)))).toContainEqual({
        time: expect.any(String),
        level: 'error',
        message: 'The log threw',
        error: 'no log',
        line: 'a line',
      })
    } finally {
      written.mockRestore()
    }
  })

  it('ctx.log takes bigints and cycles', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    try {
      const { node } = newCluster({ connect: newDatabase() })
      const job = defineJob('talks').task('only', (ctx) => ctx.log.warn('odd', { big: 5n, circular, plain: 1 }))
      const { punctual, probe } = await node({ jobs: [job], log: undefined as never })
      await punctual.enqueue(job, undefined)
      await probe.next('occurrence.completed')
      expect(written.mock.calls.map(([line]) => JSON.parse(String(line)))).toContainEqual(
        expect.objectContaining({ level: 'warn', message: 'odd', big: '5', plain: 1, circular: expect.any(String) }),
      )
    } finally {
      written.mockRestore()
    }
  })
})
