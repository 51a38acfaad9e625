// The measures, called in processes of their own on a fresh place.
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

/** Makes a place, fills it from another process when told to, and does all acts on it at the same time. */
export async function inPlace<Results extends readonly unknown[]>(
  contestant: Contestant,
  filling: measures.Filling | null,
  ...acts: { [At in keyof Results]: Act<Results[At]> }
): Promise<Results> {
  const place = await contestant.makePlace()
  const calls = (acts: readonly Act<unknown>[]) =>
    inChildren(
      acts.map(({ name, args }) => ({
        module: new URL('measures.ts', import.meta.url),
        name,
        args: [{ home: contestant.home.href, name: contestant.name, place } satisfies Subject, ...args],
      })),
    )
  try {
    if (filling && contestant.isShared) await calls([act('fill', filling)])
    return (await calls(acts)) as unknown as Results
  } finally {
    await contestant.removePlace(place)
  }
}
