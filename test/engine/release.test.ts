import { expect, it } from 'vitest'
import { createPunctual } from '../../src/index.ts'
import { defineJob } from '../../src/model/definition.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { onEachStore } from '../support/each-store.ts'

onEachStore('JS-7 release', (open) => {
  it('puts hanging work back: the handler gets the signal, and its next turn completes', async () => {
    const reasons: unknown[] = []
    let runs = 0
    const hang = defineJob('hang', { retry: { max: 0 } }, async ({ signal }) => {
      runs += 1
      if (runs > 1) return 'second'
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      reasons.push(signal.reason.code)
      return 'first'
    })
    const clock = manualClock()
    const punctual = createPunctual({ store: open()(), clock, jobs: [hang] })
    await punctual.start()
    const handle = await punctual.enqueue(hang)
    await clock.advance('30s')
    expect(runs).toBe(1)
    await punctual.release(handle.id, { by: 'ada', reason: 'hangs' })
    await clock.advance('30s')
    expect([await handle.result(), reasons]).toEqual(['second', ['lost']])
    expect((await punctual.get(handle.id))?.turns.map(({ end, reason }) => [end, reason])).toEqual([
      ['released', 'hangs'],
      ['completed', null],
    ])
    expect((await punctual.audit({ action: 'release' })).items).toMatchObject([
      { actor: 'ada', target: handle.id, reason: 'hangs', before: { state: 'running' }, after: { state: 'pending' } },
    ])
    await expect(punctual.release(handle.id)).rejects.toMatchObject({ code: 'occurrence.conflict' })
    await punctual.close()
  })

  it('a retired job is deleted with its history, and no other', async () => {
    const ping = defineJob('ping', () => 1)
    const pong = defineJob('pong', () => 1)
    const clock = manualClock()
    const punctual = createPunctual({ store: open()(), clock, jobs: [ping, pong] })
    await punctual.start()
    for (const job of [ping, ping, pong]) await punctual.enqueue(job)
    await clock.settle()
    await expect(punctual.deleteJob(ping)).rejects.toMatchObject({ code: 'job.conflict' })
    await expect(punctual.deleteJob('none')).rejects.toMatchObject({ code: 'job.unknown' })
    await punctual.retire(ping)
    const late = await punctual.enqueue(ping, undefined, { delay: '1h' })
    await expect(punctual.deleteJob(ping)).rejects.toMatchObject({ code: 'job.conflict' })
    await punctual.cancel(late.id)
    expect(await punctual.deleteJob(ping, { by: 'ada', reason: 'no longer used' })).toBe(3)
    expect((await punctual.list({})).items.map(({ job }) => job)).toEqual(['pong'])
    await expect(punctual.status(ping)).rejects.toMatchObject({ code: 'job.unknown' })
    expect((await punctual.audit({ action: 'delete' })).items).toMatchObject([{ actor: 'ada', target: 'ping', job: 'ping' }])
    await punctual.close()
  })
})
