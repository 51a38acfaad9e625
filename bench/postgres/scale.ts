import { parseArgs } from 'node:util'
import type { Load } from '../harness/contestant.ts'

/** How much is measured. */
export interface Scale {
  readonly rounds: number
  /** Jobs of one drain. */
  readonly jobs: number
  /** Jobs of one pickup, one every 20 ms. */
  readonly pickups: number
  /** Jobs that come due at random within `seconds`. */
  readonly late: { readonly jobs: number; readonly seconds: number }
  readonly load: Load
  readonly idle: { readonly jobs: number; readonly seconds: number }
  /** The beginnings of the names of contestants; all when empty. */
  readonly only: readonly string[]
}

export interface Options {
  readonly measures: readonly string[]
  readonly scale: Scale
  /** Whether everything is as a whole page has it. */
  readonly isWhole: boolean
}

const defaults = {
  jobs: '400000',
  pickups: '500',
  late: '10000',
  'late-seconds': '20',
  future: '1000000',
  history: '10000000',
  idle: '100000',
  'idle-seconds': '30',
} as const

/** Reads the command line, such as `--measure drain --rounds 1 --jobs 20000 --only punctual`. */
export function parseOptions(args: readonly string[], measures: readonly string[]): Options {
  const numbers = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, { type: 'string', default: value } as const]),
  ) as Record<keyof typeof defaults, { type: 'string'; default: string }>
  const { values } = parseArgs({
    args: [...args],
    options: {
      measure: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '3' },
      ...numbers,
    },
  })
  const chosen = values.measure.flatMap((names) => names.split(','))
  const unknown = chosen.find((name) => !measures.includes(name))
  if (unknown !== undefined) throw new Error(`There is no measure ${unknown}; there are ${measures.join(', ')}`)
  const names = Object.keys(defaults) as (keyof typeof defaults)[]
  return {
    measures: chosen.length === 0 ? measures : measures.filter((name) => chosen.includes(name)),
    scale: {
      rounds: whole(values.rounds),
      jobs: whole(values.jobs),
      pickups: whole(values.pickups),
      late: { jobs: whole(values.late), seconds: whole(values['late-seconds']) },
      load: { future: whole(values.future), history: whole(values.history) },
      idle: { jobs: whole(values.idle), seconds: whole(values['idle-seconds']) },
      only: values.only.flatMap((names) => names.split(',')),
    },
    isWhole: chosen.length === 0 && values.only.length === 0 && names.every((name) => values[name] === defaults[name]),
  }
}

function whole(text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) throw new Error(`A count is a whole number from 1 on; got ${text}`)
  return number
}
