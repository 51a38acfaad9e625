import { expect, it } from 'vitest'
import { createPunctual } from '../../src/client/punctual.ts'
import { defineJob } from '../../src/model/definition.ts'
import { interval } from '../../src/schedule/interval.ts'
import { postgres } from '../../src/store/postgres/index.ts'
import { newCluster } from '../support/cluster.ts'
import { onEachStore } from '../support/each-store.ts'
import { sharedPostgresUrl } from '../support/postgres-database.ts'

onEachStore('TM-9 start()', (newDatabase) => {
  it('said twice is harmless', async () => {
    const { client, clock } = newCluster({ connect: newDatabase() })
    let runs = 0
    const job = defineJob('tick', { schedule: interval('PT10S') }).task('only', () => void runs++)
    const { punctual, store } = client({ jobs: [job] })
    await Promise.all([punctual.start(), punctual.start()])
    await punctual.start()
    await clock.advance('21s')
    await punctual.start()
    expect(runs).toBe(2)
    expect(await punctual.nodes()).toHaveLength(1)
    await punctual.stop()
    expect(await punctual.nodes()).toEqual([])
    const beats = store.calls('beat')
    await clock.advance('1m')
    expect(store.calls('beat')).toBe(beats)
  })
})

it('TM-9 start() throws where PostgreSQL has no such database or refuses the user, and can be said again', async () => {
  const url = new URL(await sharedPostgresUrl())
  const wrong = (change: (one: URL) => void) => {
    const one = new URL(url)
    change(one)
    return createPunctual({ store: postgres(one.href) })
  }
  for (const punctual of [
    wrong((one) => {
      one.pathname = '/nowhere'
    }),
    wrong((one) => {
      one.username = 'nobody'
    }),
  ]) {
    await expect(punctual.start()).rejects.toMatchObject({ code: 'store.refused' })
    expect(punctual.health.state).toBe('stopped')
    await expect(punctual.start()).rejects.toMatchObject({ code: 'store.refused' })
    await punctual.close()
  }
})

it('TM-9 start() waits for a PostgreSQL that is away', async () => {
  const log: string[] = []
  const line = (message: string) => void log.push(message)
  const punctual = createPunctual({
    store: postgres('postgres://postgres@127.0.0.1:1/app'),
    log: { debug: line, info: line, warn: line, error: line },
  })
  await punctual.start()
  expect(punctual.health.state).toBe('degraded')
  await punctual.close()
  expect(log).toEqual(['The store does not answer; this node keeps trying'])
})
