import { describe, expect, it } from 'vitest'
import { lineLogger } from '../../src/client/logger.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('log lines of a node', (newDatabase) => {
  it('tell of an outage once at its begin and once at its end', async () => {
    const { node, pass } = newCluster({ connect: newDatabase() })
    const job = defineJob('tick', { schedule: interval('PT1S') }).task('only', () => 1)
    const { store, log, probe } = await node({ jobs: [job] })
    await pass(3)
    store.cut()
    await pass(6)
    expect(log).toEqual([
      { level: 'error', message: 'The store does not answer; this node keeps trying', fields: { error: 'The store was cut' } },
    ])
    store.heal()
    await pass(5)
    expect(log.slice(1)).toEqual([
      { level: 'warn', message: 'The store answers again', fields: { lastedMs: expect.any(Number) } },
    ])
    expect(probe.seen('loop.error').length).toBeGreaterThan(10)
    store.cut()
    await pass(2)
    expect(log).toHaveLength(3)
  })

  it('tell of an outage at the start, too', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const { punctual, store, log } = client()
    store.cut()
    await punctual.start()
    await clock.advance('1m')
    store.heal()
    await clock.advance('5s')
    expect(log.map(({ message }) => message)).toEqual([
      'The store does not answer; this node keeps trying',
      'The store answers again',
    ])
  })

  it('tell once of a loop that fails by itself, and again of another failure', async () => {
    const { node, clock } = newCluster({ connect: newDatabase() })
    const { store, log } = await node()
    let refusals = 0
    store.refuse('nodes', () => ++refusals < 4)
    await clock.advance('2s')
    await clock.advance('30s')
    expect(refusals).toBeGreaterThan(3)
    expect(log).toEqual([expect.objectContaining({ level: 'error', message: 'The watch loop failed and tries again' })])
  })

  it.each(['dead', 'failed'] as const)('tell of a final failure (%s) while nobody listens', async (state) => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    const one = client({
      jobs: [
        defineJob('doomed', { retry: { max: 1, interval: '1s' }, deadLetter: state === 'dead' }).task('only', ({ fail }) =>
          fail('no luck'),
        ),
      ],
    })
    one.probe.close()
    await one.punctual.start()
    const { id } = await one.punctual.enqueue('doomed')
    await clock.advance('5s')
    const line = {
      level: 'error',
      message: 'A job has failed for good',
      fields: { tenant: 'default', job: 'doomed', occurrence: id, state, attempts: 2, error: 'no luck' },
    }
    expect(one.log).toEqual([line])
    one.punctual.on('occurrence.failed', () => {})
    await one.punctual.enqueue('doomed')
    await clock.advance('5s')
    expect(one.log).toEqual([line])
  })
})

describe('lines on standard error', () => {
  const written = (write: (log: ReturnType<typeof lineLogger>) => void) => {
    const lines: string[] = []
    write(lineLogger((line) => lines.push(line)))
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  }

  it('carry the time, and fields cannot replace it', () => {
    const [line] = written((log) => log.warn('careful', { job: 'x', time: 'never', level: 'none' }))
    expect(line).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      level: 'warn',
      message: 'careful',
      job: 'x',
    })
  })

  it('are written whatever the fields are', () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    const lines = written((log) => {
      log.error('big', { n: 10n })
      log.error('round', circle)
    })
    expect(lines).toMatchObject([
      { message: 'big', n: '10' },
      { message: 'round', self: expect.any(String) },
    ])
  })
})
