// The measures, called in separate processes.
import type { Contestant, Subject } from './contestant.ts'
import { type Gate, inChildren } from './in-child.ts'
import type * as measures from './measures.ts'

type Measures = typeof measures
type Name = keyof Measures
type Arguments<N extends Name> =
  Parameters<Measures[N]> extends [Subject, ...infer Own, Gate]
    ? Own
    : Parameters<Measures[N]> extends [Subject, ...infer Own]
      ? Own
      : never

/** One measure with its arguments, and what it returns. */
export interface Act<Result> {
  readonly name: string
  readonly args: readonly unknown[]
  readonly returns?: Result
}

export function act<N extends Name>(name: N, ...args: Arguments<N>): Act<Awaited<ReturnType<Measures[N]>>> {
  return { name, args }
}

type Acts<Results extends readonly unknown[]> = { [At in keyof Results]: Act<Results[At]> }

/** Makes a place, fills it from another process when told to, does all acts on it at the same time, and removes it. */
export async function inPlace<Results extends readonly unknown[]>(
  contestant: Contestant,
  filling: measures.Filling | null,
  ...acts: Acts<Results>
): Promise<Results> {
  const place = await contestant.makePlace()
  try {
    return await atPlace<Results>(contestant, place, filling, ...acts)
  } finally {
    await contestant.removePlace(place)
  }
}

/** The same on a place that is there and stays. */
export async function atPlace<Results extends readonly unknown[]>(
  contestant: Contestant,
  place: string,
  filling: measures.Filling | null,
  ...acts: Acts<Results>
): Promise<Results> {
  const subject: Subject = { home: contestant.home.href, name: contestant.name, place }
  const module = new URL('measures.ts', import.meta.url)
  const call = (acts: readonly Act<unknown>[]) =>
    inChildren(acts.map(({ name, args }) => ({ module, name, args: [subject, ...args] })))
  if (filling && contestant.isShared) {
    await call([act('fill', filling)])
    await contestant.settlePlace?.(place)
  }
  return (await call(acts)) as unknown as Results
}
