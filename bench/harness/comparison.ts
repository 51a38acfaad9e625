import type { Contestant } from './contestant.ts'
import { cell, figure, type Page } from './page.ts'
import { median, type Spread, spread } from './statistics.ts'

/** One figure of a run. */
export interface Aspect<Run> {
  readonly title: string
  of(run: Run): number
  /** Which is better; without it the figure is shown and not compared. */
  readonly better?: 'higher' | 'lower'
  /** The name of this figure's bar. Default: no bar. */
  readonly bar?: string
  /** How many times better than the best peer those that are no peers want to be at least. Default: nothing is wanted. */
  readonly goal?: number
  /** The goal for the figure of contestants that are no peers. */
  readonly under?: number
}

/** The ratio of one contestant to the best peer, for the chart. */
export interface Bar {
  readonly label: string
  readonly ratio: Spread
}

export interface Comparison<Run> {
  readonly heading: string
  readonly note?: string
  readonly results: ReadonlyMap<Contestant, readonly Run[]>
  readonly aspects: readonly Aspect<Run>[]
  readonly isPeer: (contestant: Contestant) => boolean
}

/** Writes a table of all contestants, each compared with the best peer in each figure. Returns bars for those that are no peers. */
export function compare<Run>(page: Page, { heading, note, results, aspects, isPeer }: Comparison<Run>): Bar[] {
  const compared = aspects.filter(({ better }) => better !== undefined)
  const peers = [...results].filter(([contestant]) => isPeer(contestant)).map(([, runs]) => runs)
  const judged = aspects.filter(({ goal, under }) => under !== undefined || (goal !== undefined && peers.length > 0))
  const rows = [...results].map(([contestant, runs]) => [
    contestant.name,
    ...aspects.map((aspect) => cell(spread(runs.map(aspect.of)))),
    ...compared.map((aspect) => ratioCell(advantage(runs, peers, aspect))),
    ...judged.map((aspect) => (isPeer(contestant) ? '' : judge(page, runs, peers, aspect))),
  ])
  const columns = [
    '',
    ...aspects.map(({ title }) => title),
    ...compared.map(({ title }) => `${title}, to the best peer`),
    ...judged.map(({ title }) => `goal, ${title}`),
  ]
  page.table(heading, columns, rows, note)
  return [...results]
    .filter(([contestant]) => !isPeer(contestant))
    .flatMap(([, runs]) =>
      compared.flatMap((aspect) => {
        const ratio = advantage(runs, peers, aspect)
        return ratio && aspect.bar !== undefined ? [{ label: aspect.bar, ratio }] : []
      }),
    )
}

/** How many times better than the best peer: by the medians, and at least and at most in a single round. Null without peers. */
export function advantage<Run>(
  runs: readonly Run[],
  peers: readonly (readonly Run[])[],
  { of, better }: Aspect<Run>,
): Spread | null {
  if (peers.length === 0) return null
  const best = (values: readonly number[]) => (better === 'higher' ? Math.max(...values) : Math.min(...values))
  const ratio = (own: number, other: number) => (better === 'higher' ? own / other : other / own)
  const inRound = runs.map((run, round) => ratio(of(run), best(peers.flatMap((runs) => runs.slice(round, round + 1).map(of)))))
  const { min, max } = spread(inRound)
  return { median: ratio(median(runs.map(of)), best(peers.map((runs) => median(runs.map(of))))), min, max }
}

function judge<Run>(page: Page, runs: readonly Run[], peers: readonly (readonly Run[])[], aspect: Aspect<Run>): string {
  const { goal = 0, under } = aspect
  if (under !== undefined) return page.goal(`< ${under}`, median(runs.map(aspect.of)) < under)
  return goalCell(page, advantage(runs, peers, aspect), goal)
}

/** Whether a ratio is what was wanted, by the figure that the page shows. */
export function goalCell(page: Page, ratio: Spread | null, goal: number): string {
  return page.goal(`≥ ${goal}×`, ratio !== null && Math.round(ratio.median * 100) / 100 >= goal)
}

export function ratioCell(ratio: Spread | null): string {
  if (!ratio) return ''
  const { median, min, max } = ratio
  return `${times(median)}× (${times(min)}–${times(max)})`
}

function times(ratio: number): string {
  return figure(ratio, ratio >= 10 ? 0 : ratio >= 0.1 ? 1 : 2)
}
