import { describe, expect, test } from 'vitest'
import { waitReasons } from '../../src/client/occurrence-view.ts'
import {
  attemptStates,
  endStates,
  occurrenceMoves,
  occurrenceStates,
  taskRunStates,
  turnEnds,
} from '../../src/model/lifecycle.ts'
import { read, tableRows } from './page.ts'

const page = 'docs/concepts.md'
const text = read(page)

describe('the page of concepts', () => {
  test('draws exactly the moves of the table of states', () => {
    const drawn = [...text.matchAll(/^ {2}(\S+) --> (\S+)$/gm)].map(([, from, to]) => `${from} --> ${to}`)
    const moves = Object.entries(occurrenceMoves).flatMap(([from, targets]) => targets.map((to) => `${from} --> ${to}`))
    expect(drawn.toSorted()).toEqual(['[*] --> pending', ...moves, ...endStates.map((state) => `${state} --> [*]`)].toSorted())
  })

  test('explains every state', () => {
    expect(tableRows(page, 'States of an occurrence').map(([state]) => state)).toEqual([...occurrenceStates])
    for (const state of [...taskRunStates, ...attemptStates, ...turnEnds]) expect(text).toContain(`\`${state}\``)
  })

  test('explains everything that an occurrence can wait for', () => {
    expect(tableRows(page, 'Why an occurrence waits').map(([reason]) => reason)).toEqual([...waitReasons])
  })
})
