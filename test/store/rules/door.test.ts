import { describe, expect, it } from 'vitest'
import type { Limit } from '../../../src/model/limit.ts'
import {
  type AtDoor,
  admit,
  type Door,
  givenUp,
  inLine,
  keptBetweenTurns,
  limitOf,
  releasesAtClaim,
} from '../../../src/store/rules/door.ts'

/** A door of plain arrays that records its calls. */
class PlainDoor implements Door<AtDoor> {
  readonly counts = new Map<string, number>()
  readonly lines = new Map<string, AtDoor[]>()
  readonly notes: string[] = []
  arrivals: AtDoor[] = []
  releases: { key: string; slots: number }[] = []
  readonly held = new Map<string, AtDoor>()
  unserved = new Set<string>()

  takeReleases() {
    return this.releases.splice(0)
  }
  hasReleases() {
    return this.releases.length > 0
  }
  takeArrivals() {
    return this.arrivals.splice(0)
  }
  verdict() {
    return null
  }
  isServed(kind: string) {
    return !this.unserved.has(kind)
  }
  used(key: string) {
    return this.counts.get(key) ?? 0
  }
  setUsed(key: string, used: number) {
    this.counts.set(key, used)
  }
  holder(key: string) {
    return this.held.get(key) ?? null
  }
  setHolder(key: string, row: AtDoor) {
    this.held.set(key, row)
  }
  lineKind(key: string) {
    const [first] = this.line(key)
    return first ? limitOf(first).kind : null
  }
  line(key: string) {
    return [...(this.lines.get(key) ?? [])]
  }
  leaveLine(row: AtDoor) {
    for (const [key, line] of this.lines)
      this.lines.set(
        key,
        line.filter(({ ref }) => ref !== row.ref),
      )
  }
  wait(row: AtDoor, { key }: Limit) {
    this.notes.push(`${row.id} waits for ${key}`)
    this.lines.set(key, [...this.line(key), row].sort(inLine))
  }
  advance(row: AtDoor) {
    return { ...row, granted: row.granted + 1 }
  }
  grant(row: AtDoor) {
    this.notes.push(`${row.id} in`)
  }
  pass(row: AtDoor, verdict: { reason: string }) {
    this.notes.push(`${row.id} ${verdict.reason}`)
  }
  cancelHolder(key: string, next: AtDoor) {
    this.notes.push(`${this.held.get(key)?.id} cancels for ${next.id}`)
    this.releases.push({ key, slots: 1 })
  }
}

let lastRef = 0
const key = (limit: number, name = 'k', policy?: Limit['policy']): Limit => ({
  kind: policy ? 'overlap' : 'concurrency',
  key: name,
  limit,
  ...(policy && { policy }),
})
const row = (id: string, limits: readonly Limit[], over: Partial<AtDoor> = {}): AtDoor => ({
  ref: ++lastRef,
  id,
  kind: 'mail',
  priority: 5,
  dueAt: 0,
  isRecovery: false,
  hasBegun: false,
  limits,
  granted: 0,
  ...over,
})
const visit = (door: PlainDoor, ...arrivals: AtDoor[]) => {
  door.arrivals = arrivals
  door.notes.length = 0
  admit(door)
  return door.notes
}

describe('the door', () => {
  it('lets in as many as the limit, in the order of priority, due and age', () => {
    const rows = [
      row('low', [key(2)], { priority: 9 }),
      row('late', [key(2)], { dueAt: 2 }),
      row('first', [key(2)], { dueAt: 1 }),
    ]
    expect(visit(new PlainDoor(), ...rows)).toEqual(['first in', 'late in', 'low waits for k'])
  })

  it('judges each by its own limit, and nobody overtakes a head that does not fit', () => {
    const door = new PlainDoor()
    visit(door, row('holder', [key(1)]))
    expect(visit(door, row('narrow', [key(1)]), row('wide', [key(5)], { dueAt: 1 }))).toEqual([
      'narrow waits for k',
      'wide waits for k',
    ])
    door.releases.push({ key: 'k', slots: 1 })
    expect(visit(door)).toEqual(['narrow in', 'wide in'])
  })

  it('looks again at a line that somebody left, without a free slot', () => {
    const door = new PlainDoor()
    visit(door, row('holder', [key(1)]))
    const narrow = row('narrow', [key(1)])
    visit(door, narrow, row('wide', [key(2)], { dueAt: 1 }))
    door.leaveLine(narrow)
    door.releases.push({ key: 'k', slots: 0 })
    expect(visit(door)).toEqual(['wide in'])
  })

  it('keeps a granted key while the next is waited for', () => {
    const door = new PlainDoor()
    visit(door, row('holder', [key(1, 'b')]))
    expect(visit(door, row('both', [key(1, 'a'), key(1, 'b')]), row('one', [key(1, 'a')], { dueAt: 1 }))).toEqual([
      'one waits for a',
      'both waits for b',
    ])
    door.releases.push({ key: 'b', slots: 1 })
    expect(visit(door)).toEqual(['both in'])
    expect(door.used('a')).toBe(1)
  })

  it('passes by work that no node serves', () => {
    const door = new PlainDoor()
    visit(door, row('holder', [key(1)]))
    visit(door, row('rare', [key(1)], { kind: 'rare' }), row('mail', [key(1)], { dueAt: 1 }))
    door.unserved.add('rare')
    door.releases.push({ key: 'k', slots: 1 })
    expect(visit(door)).toEqual(['mail in'])
  })

  it.each([
    ['skip', ['second overlap: first', 'third overlap: first']],
    ['queue', ['second waits for k', 'third waits for k']],
    ['queue-one', ['second waits for k', 'third overlap: second']],
  ] as const)('JB-8 %s', (policy, expected) => {
    const door = new PlainDoor()
    visit(door, row('first', [key(1, 'k', policy)]))
    expect(visit(door, row('second', [key(1, 'k', policy)]), row('third', [key(1, 'k', policy)]))).toEqual(expected)
  })

  it('JB-8 cancel-previous lets the next in as soon as the one before has ended', () => {
    const door = new PlainDoor()
    visit(door, row('first', [key(1, 'k', 'cancel-previous')]))
    expect(visit(door, row('second', [key(1, 'k', 'cancel-previous')]))).toEqual([
      'first cancels for second',
      'second waits for k',
      'second in',
    ])
  })

  it('work that has begun waits, whatever its policy', () => {
    const door = new PlainDoor()
    visit(door, row('first', [key(1, 'k', 'skip')]))
    expect(visit(door, row('again', [key(1, 'k', 'skip')], { hasBegun: true }))).toEqual(['again waits for k'])
  })

  it('JB-15 live work waits for a recovery run, one at a time, and goes before others of them', () => {
    const door = new PlainDoor()
    visit(door, row('caught-up', [key(1, 'k', 'queue')], { isRecovery: true }))
    const later = row('later', [key(1, 'k', 'queue')], { isRecovery: true })
    expect(
      visit(door, later, row('live', [key(1, 'k', 'skip')], { dueAt: 9 }), row('next', [key(1, 'k', 'skip')], { dueAt: 10 })),
    ).toEqual(['live waits for k', 'next overlap: live', 'later waits for k'])
    door.releases.push({ key: 'k', slots: 1 })
    expect(visit(door)).toEqual(['live in'])
  })
})

describe('what becomes of granted keys', () => {
  const limits = [key(1, 'a'), { kind: 'rate', key: 'r', limit: 5, perMs: 1000 }] as const satisfies readonly Limit[]

  it('work that has begun keeps all but its rates between two turns, other work nothing', () => {
    expect(keptBetweenTurns(limits, true)).toBe(1)
    expect(keptBetweenTurns(limits, false)).toBe(0)
    expect(keptBetweenTurns([key(1)], true)).toBe(1)
    expect(keptBetweenTurns(null, true)).toBe(0)
  })

  it('a claim frees the slot of a rate when the window has passed, and a little later', () => {
    expect(releasesAtClaim(limits, 5000)).toEqual([{ key: 'r', slots: 1, freeAt: 6020 }])
    expect(releasesAtClaim(null, 5000)).toEqual([])
  })

  it('claimed work gives up all but its rates, which come back by time; other work gives up all', () => {
    expect(givenUp({ limits, granted: 2 }, true)).toEqual(['a'])
    expect(givenUp({ limits, granted: 2 }, false)).toEqual(['a', 'r'])
    expect(givenUp({ limits, granted: 1 }, false)).toEqual(['a'])
    expect(givenUp({ limits, granted: 2, kept: 1 }, false)).toEqual(['r'])
  })
})
