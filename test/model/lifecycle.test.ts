import { describe, expect, it } from 'vitest'
import {
  attemptStates,
  endStates,
  isEnd,
  occurrenceMoves,
  occurrenceStates,
  stateAfter,
  taskRunStates,
  turnEnds,
} from '../../src/model/lifecycle.ts'

describe('the table of states', () => {
  it('has a row for every state and names only known ones', () => {
    expect(Object.keys(occurrenceMoves).sort()).toEqual([...occurrenceStates].sort())
    for (const next of Object.values(occurrenceMoves).flat()) expect(occurrenceStates).toContain(next)
  })

  it('lets every state be reached from pending', () => {
    const reached = new Set<string>(['pending'])
    for (const state of reached) for (const next of occurrenceMoves[state as 'pending']) reached.add(next)
    expect([...reached].sort()).toEqual([...occurrenceStates].sort())
  })

  it('lets an end be reached from every state', () => {
    const ending = new Set<string>(endStates)
    for (const _ of occurrenceStates)
      for (const state of occurrenceStates) if (occurrenceMoves[state].some((next) => ending.has(next))) ending.add(state)
    expect(ending.size).toBe(occurrenceStates.length)
  })

  it('has no moves out of an end, and dead is no end', () => {
    expect([...endStates].sort()).toEqual(['canceled', 'completed', 'failed', 'missed', 'skipped'])
    for (const state of occurrenceStates) expect(isEnd(state)).toBe(occurrenceMoves[state].length === 0)
    expect(isEnd('dead')).toBe(false)
  })

  it('never moves a state to itself, nor names a move twice', () => {
    for (const state of occurrenceStates) {
      expect(occurrenceMoves[state]).not.toContain(state)
      expect(new Set(occurrenceMoves[state]).size).toBe(occurrenceMoves[state].length)
    }
  })

  it('lets only what waits or is pending run', () => {
    const beforeRunning = occurrenceStates.filter((state) => occurrenceMoves[state].includes('running'))
    expect(beforeRunning).toEqual(['pending', 'waiting', 'retrying'])
  })

  it('TM-10 lets the dead leave only by a retry or a discard', () => {
    expect(occurrenceMoves.dead).toEqual(['retrying', 'canceled'])
  })
})

describe('the ends of a turn', () => {
  it('each leave the occurrence in a state that the table allows', () => {
    expect(Object.keys(stateAfter).sort()).toEqual([...turnEnds].sort())
    const waiting = ['pending', 'waiting', 'retrying', 'dead'] as const
    for (const end of turnEnds) {
      const from = ['running' as const, ...waiting].filter((state) => occurrenceMoves[state].includes(stateAfter[end]))
      expect(from, end).not.toEqual([])
    }
  })

  it('cover all that can become of a running occurrence', () => {
    const afterRunning = new Set(
      ['completed', 'failed', 'dead', 'parked', 'released', 'canceled', 'stale', 'lost'].map((end) => stateAfter[end as 'lost']),
    )
    expect([...afterRunning].sort()).toEqual([...occurrenceMoves.running].sort())
  })
})

describe('JB-1 the states of attempts', () => {
  it('are those of task runs, and also stale and lost', () => {
    expect(attemptStates.filter((state) => !(taskRunStates as readonly string[]).includes(state))).toEqual(['stale', 'lost'])
    expect(taskRunStates.every((state) => (attemptStates as readonly string[]).includes(state))).toBe(true)
  })
})
