import { describe, expect, it } from 'vitest'
import { Loop, type Wait } from '../../src/engine/loops/loop.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'

function newLoop(runOnce: (isLook: boolean) => Promise<Wait>, clock = manualClock()) {
  const errors: number[] = []
  const loop = new Loop({
    name: 'test',
    clock,
    random: () => 1,
    runOnce,
    onOk: () => {},
    onError: (_, retryInMs) => errors.push(retryInMs),
  })
  return { clock, loop, errors }
}

describe('a loop', () => {
  it('never dies: a pass that throws is told, and tried again after ever longer waits', async () => {
    let passes = 0
    const { clock, loop, errors } = newLoop(async () => {
      if (++passes <= 8) throw new Error('no luck')
      return null
    })
    loop.start()
    await clock.advance('1m')
    expect(errors).toEqual([50, 100, 200, 400, 800, 1600, 2000, 2000])
    expect(passes).toBe(9)
  })

  it('passes when it is asked for during a pass that knew nothing of it', async () => {
    const at: number[] = []
    const answers: ((wait: Wait) => void)[] = []
    const { clock, loop } = newLoop(() => {
      at.push(clock.mono())
      return new Promise((resolve) => answers.push(resolve))
    })
    loop.start()
    loop.wakeIn(300)
    loop.wakeIn(500)
    answers.shift()?.({ poll: 1000 })
    await clock.advance('300ms')
    expect(at).toEqual([0, 300])
    loop.wake()
    answers.shift()?.(null)
    await clock.settle()
    expect(at).toEqual([0, 300, 300])
  })

  it('is told whether only the poll asks for a pass', async () => {
    const passes: boolean[] = []
    const waits: Wait[] = [{ poll: 1000 }, { poll: 1000 }, 300, { poll: 1000 }, { poll: 1000 }]
    const { clock, loop } = newLoop(async (isLook) => {
      passes.push(isLook)
      return waits.shift() ?? null
    })
    loop.start()
    await clock.advance('1s')
    await clock.advance('1s')
    await clock.advance('300ms')
    loop.wake()
    await clock.settle()
    expect(passes).toEqual([false, true, true, false, false])
  })

  it('keeps an appointment beyond its poll, and one that is asked for while it rests', async () => {
    const passes: string[] = []
    const waits: Wait[] = [{ in: 5000, poll: 1000 }, { in: 1, poll: 1000 }, { poll: 1000 }]
    const { clock, loop } = newLoop(async (isLook) => {
      passes.push(`${isLook ? 'look' : 'pass'} ${clock.mono()}`)
      return waits.shift() ?? null
    })
    loop.start()
    await clock.advance('5s')
    expect(passes).toEqual(['pass 0', 'look 4999', 'pass 5000'])
    loop.wakeIn(60_000)
    await clock.advance('2m')
    expect(passes.slice(3)).toEqual(['look 64999'])
  })

  it('looks together with other loops, and never later than its poll', async () => {
    const clock = manualClock()
    const looks: string[] = []
    const looking = (name: string, poll: number) => {
      const { loop } = newLoop(async (isLook) => {
        if (isLook) looks.push(`${name} ${clock.mono()}`)
        return { poll }
      }, clock)
      loop.start()
    }
    await clock.advance('300ms')
    looking('a', 1000)
    await clock.advance('400ms')
    looking('b', 2000)
    for (let steps = 0; steps < 33; steps++) await clock.advance('100ms')
    expect(looks).toEqual(['a 1000', 'b 2000', 'a 2000', 'a 3000', 'b 4000', 'a 4000'])
  })

  it('keeps its wait after an error, whoever asks', async () => {
    let passes = 0
    const { clock, loop } = newLoop(async () => {
      passes++
      throw new Error('no luck')
    })
    loop.start()
    await clock.settle()
    loop.wake()
    loop.wakeIn(1)
    await clock.advance('49ms')
    expect(passes).toBe(1)
    await clock.advance('1ms')
    expect(passes).toBe(2)
  })

  it('stops after the pass under way, and can start again', async () => {
    const { promise, resolve } = Promise.withResolvers<Wait>()
    let passes = 0
    const { clock, loop } = newLoop(() => (++passes === 1 ? promise : Promise.resolve(null)))
    loop.start()
    let stopped = 0
    const both = [loop.stop().then(() => stopped++), loop.stop().then(() => stopped++)]
    await clock.settle()
    expect(stopped).toBe(0)
    resolve(0)
    await Promise.all(both)
    await clock.advance('1m')
    expect(passes).toBe(1)
    loop.start(1000)
    await clock.advance('999ms')
    expect(passes).toBe(1)
    await clock.advance('1ms')
    expect(passes).toBe(2)
  })
})
