import type { WireOccurrence } from '../../../../src/http/wire.ts'

type Turn = WireOccurrence['turns'][number]

/** The node of a turn by its name; by the start of its id once it is gone. */
export function nodeOf({ nodeName, node }: Turn): string | null {
  return nodeName ?? (node && `${node.slice(0, 8)}, gone`)
}

/** `node-a (turns 1 to 3, 7); node-b (turn 4)`. */
export function nodesOf(turns: readonly Turn[], current: string | null): string {
  const byName = new Map<string, number[]>()
  for (const turn of turns) {
    const name = nodeOf(turn)
    if (name) byName.set(name, [...(byName.get(name) ?? []), turn.turn])
  }
  if (byName.size === 0) return current ?? ''
  return [...byName]
    .map(([name, numbers]) =>
      turns.length > 1 ? `${name} (${numbers.length > 1 ? 'turns' : 'turn'} ${spansOf(numbers)})` : name,
    )
    .join('; ')
}

/** Numbers that follow each other as one span. */
function spansOf(numbers: readonly number[]): string {
  const spans: [number, number][] = []
  for (const number of numbers) {
    const last = spans.at(-1)
    if (last && number === last[1] + 1) last[1] = number
    else spans.push([number, number])
  }
  return spans.map(([from, to]) => (to > from + 1 ? `${from} to ${to}` : to > from ? `${from}, ${to}` : from)).join(', ')
}
