import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { defineJob } from '../../src/model/definition.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { RealWork } from '../../src/testing/real-work.ts'
import { runJob } from '../../src/testing/run-job.ts'

it('a handler that never ends does not keep its clock in the process', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const abandoned = () => {
    const work = new RealWork()
    void work.run('a handler', () => new Promise(() => {}))
    return new WeakRef(work)
  }
  const works = Array.from({ length: 10 }, abandoned)
  await delay(1)
  collect()
  expect(works.filter((work) => work.deref())).toEqual([])
})

it('a clock waits for the real I/O of a job that its handler runs on another clock', async () => {
  const clock = manualClock()
  const inner = defineJob('inner', () => delay(100, 'inner'))
  let result: unknown
  void clock.run?.('outer', async () => {
    result = (await runJob(inner, undefined)).result
  })
  await clock.settle()
  expect(result).toBe('inner')
})
