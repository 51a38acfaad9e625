import { describe, expect, it } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { sleep } from '../../src/time/clock.ts'

describe('a manual clock', () => {
  it('starts where it is told', () => {
    expect(manualClock().wall()).toBe(Date.UTC(2026, 0, 1))
    expect(manualClock(5).wall()).toBe(5)
    expect(manualClock(new Date(7)).wall()).toBe(7)
    expect(manualClock('2026-03-01T12:00:00+01:00').wall()).toBe(Date.UTC(2026, 2, 1, 11))
    expect(() => manualClock('noon')).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })

  it('stands still until it is moved', async () => {
    const clock = manualClock(0)
    clock.timer(0, () => expect.unreachable())
    await clock.settle()
    expect([clock.wall(), clock.mono(), clock.pending]).toEqual([0, 0, 1])
  })

  it('runs timers in order, each at its own instant', async () => {
    const clock = manualClock(1000)
    const ran: string[] = []
    const note = (name: string) => () => void ran.push(`${name} ${clock.wall()} ${clock.mono()}`)
    clock.timer(30, note('c'))
    clock.timer(10, note('a'))
    clock.timer(10, note('b'))
    clock.timer(31, note('later'))
    expect(clock.nextTimerMs).toBe(10)
    await clock.advance(30)
    expect(ran).toEqual(['a 1010 10', 'b 1010 10', 'c 1030 30'])
    expect([clock.pending, clock.nextTimerMs, clock.wall()]).toEqual([1, 1, 1030])
  })

  it('runs timers that are set on the way', async () => {
    const clock = manualClock(0)
    const ran: number[] = []
    const again = () => {
      ran.push(clock.wall())
      clock.timer(100, again)
    }
    clock.timer(100, again)
    await clock.advance('1s')
    expect(ran).toEqual([100, 200, 300, 400, 500, 600, 700, 800, 900, 1000])
  })

  it('lets promises settle between timers, so that loops proceed', async () => {
    const clock = manualClock(0)
    const seen: number[] = []
    const loop = async () => {
      for (;;) {
        await sleep(clock, 10)
        await Promise.resolve()
        await new Promise((resolve) => setImmediate(resolve))
        seen.push(clock.wall())
      }
    }
    void loop()
    await clock.advance(35)
    expect(seen).toEqual([10, 20, 30])
  })

  it('runs polls that have come due just before the next timer, once, and at the end', async () => {
    const clock = manualClock(0)
    const ran: string[] = []
    const poll = () => {
      ran.push(`poll ${clock.mono()}`)
      clock.poll(10, poll)
    }
    clock.poll(10, poll)
    clock.timer(100, () => ran.push(`timer ${clock.mono()}`))
    await clock.advance(300)
    expect(ran).toEqual(['poll 99', 'timer 100', 'poll 300'])
  })

  it('does not move while code that it calls waits for real time, and moves on when that waits for the clock', async () => {
    const clock = manualClock(0)
    const seen: number[] = []
    void clock.run?.('work', async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      seen.push(clock.mono())
      await sleep(clock, 50)
      seen.push(clock.mono())
    })
    await clock.advance(100)
    expect(seen).toEqual([0, 50])
  })

  it('takes timers back', async () => {
    const clock = manualClock()
    const cancel = clock.timer(10, () => expect.unreachable())
    cancel()
    await clock.advance(20)
    expect([clock.pending, clock.nextTimerMs]).toEqual([0, null])
  })

  it('advances to an instant, never back', async () => {
    const clock = manualClock('2026-01-01T00:00:00Z')
    await clock.advanceTo('2026-01-02T00:00:00Z')
    expect([clock.wall(), clock.mono()]).toEqual([Date.UTC(2026, 0, 2), 86_400_000])
    expect(() => clock.advanceTo(new Date(0))).toThrow(expect.objectContaining({ code: 'instant.invalid' }))
  })

  it('jumps the wall alone, and no timer notices', async () => {
    const clock = manualClock(0)
    const ran: number[] = []
    clock.timer(100, () => ran.push(clock.wall()))
    clock.jump(3_600_000)
    await clock.settle()
    expect([ran, clock.wall(), clock.mono(), clock.nextTimerMs]).toEqual([[], 3_600_000, 0, 100])
    clock.jump(-7_200_000)
    await clock.advance(100)
    expect(ran).toEqual([-3_600_000 + 100])
  })

  it('moves one after another when it is asked at once', async () => {
    const clock = manualClock(0)
    const ran: number[] = []
    for (const ms of [5, 15, 25]) clock.timer(ms, () => ran.push(clock.mono()))
    await Promise.all([clock.advance(10), clock.advance(10), clock.advance(10)])
    expect([ran, clock.mono()]).toEqual([[5, 15, 25], 30])
  })

  it('passes on what a timer throws, and works on', async () => {
    const clock = manualClock(0)
    clock.timer(5, () => {
      throw new Error('from a timer')
    })
    await expect(clock.advance(10)).rejects.toThrow('from a timer')
    await clock.advance(10)
    expect(clock.mono()).toBe(15)
  })

  it('refuses to spin on timers of no length', async () => {
    const clock = manualClock(0)
    const spin = () => void clock.timer(0, spin)
    spin()
    await expect(clock.advance(1)).rejects.toThrow(/again and again/)
  }, 60_000)

  it('passes 400 days in one step', async () => {
    const clock = manualClock()
    let ran = false
    clock.timer(400 * 86_400_000, () => (ran = true))
    await clock.advance('400d')
    expect(ran).toBe(true)
  })
})
