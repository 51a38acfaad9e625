/** One act on a store. The numbers choose among the records present at that step, so any part of a sequence is a valid sequence too. */
export interface Step {
  readonly verb: StepVerb
  readonly a: number
  readonly b: number
  readonly c: number
}

export const stepVerbs = [
  'create',
  'putJob',
  'pause',
  'plan',
  'claim',
  'reclaim',
  'checkpoint',
  'settle',
  'cancel',
  'move',
  'gate',
  'beat',
  'rescue',
  'prune',
  'pass',
] as const
export type StepVerb = (typeof stepVerbs)[number]

const weights: Readonly<Record<StepVerb, number>> = {
  create: 8,
  putJob: 3,
  pause: 3,
  plan: 5,
  claim: 8,
  reclaim: 1,
  checkpoint: 5,
  settle: 7,
  cancel: 3,
  move: 4,
  gate: 4,
  beat: 8,
  rescue: 4,
  prune: 2,
  pass: 6,
}

const lots = stepVerbs.flatMap((verb) => Array<StepVerb>(weights[verb]).fill(verb))

export function randomStep(random: () => number): Step {
  const number = () => Math.floor(random() * 1_000_000)
  return { verb: lots[number() % lots.length] as StepVerb, a: number(), b: number(), c: number() }
}

export function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T
}
