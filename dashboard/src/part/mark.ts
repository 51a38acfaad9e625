/** The states of occurrences and jobs that have a shape, a colour and a word. */
export type Mark =
  | 'pending'
  | 'waiting'
  | 'running'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'dead'
  | 'canceled'
  | 'skipped'
  | 'missed'
  | 'late'
  | 'ontime'
  | 'failing'
  | 'paused'
  | 'disabled'
  | 'orphaned'
  | 'hand'

const words: Readonly<Partial<Record<Mark, string>>> = { ontime: 'On time', hand: 'Changed by hand' }

export function markWord(mark: Mark): string {
  return words[mark] ?? mark[0]!.toUpperCase() + mark.slice(1)
}
