import { expect, it } from 'vitest'
import { parseOptions } from '../../bench/postgres/scale.ts'

const measures = ['drain', 'pickup']

it('without options everything is measured in full', () => {
  const { measures: chosen, isWhole, scale } = parseOptions([], measures)
  expect(chosen).toEqual(measures)
  expect(isWhole).toBe(true)
  expect(scale.load).toEqual({ future: 1_000_000, history: 10_000_000 })
})

it('more rounds are as whole as three', () => {
  expect(parseOptions(['--rounds', '5'], measures)).toMatchObject({ isWhole: true, scale: { rounds: 5 } })
})

it('a part, fewer jobs or fewer contestants are not the whole', () => {
  expect(parseOptions(['--measure', 'pickup'], measures)).toMatchObject({ isWhole: false, measures: ['pickup'] })
  expect(parseOptions(['--jobs', '20000'], measures)).toMatchObject({ isWhole: false, scale: { jobs: 20_000 } })
  expect(parseOptions(['--only', 'punctual,pg-boss'], measures)).toMatchObject({
    isWhole: false,
    scale: { only: ['punctual', 'pg-boss'] },
  })
})

it('what makes no sense is refused', () => {
  expect(() => parseOptions(['--measure', 'sleep'], measures)).toThrow('There is no measure sleep; there are drain, pickup')
  expect(() => parseOptions(['--rounds', '0'], measures)).toThrow('A count is a whole number from 1 on; got 0')
  expect(() => parseOptions(['--round', '1'], measures)).toThrow()
})
