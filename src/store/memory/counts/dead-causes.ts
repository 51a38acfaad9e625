import type { DeadCause } from '../../store.ts'
import type { Entry } from '../entry.ts'

export function deadCauses(entries: readonly Entry[], limit: number): readonly DeadCause[] {
  const dead = entries.filter(({ cause }) => cause !== null)
  return [...Map.groupBy(dead, (entry) => entry.cause as string)]
    .map(([cause, entries]) => group(cause, entries))
    .sort((a, b) => b.count - a.count || b.lastAt - a.lastAt || (a.cause < b.cause ? -1 : 1))
    .slice(0, limit)
}

function group(cause: string, entries: readonly Entry[]): DeadCause {
  const died = entries.map(({ turns }) => turns.at(-1)?.endedAt ?? 0)
  return {
    cause,
    count: entries.length,
    firstAt: Math.min(...died),
    lastAt: Math.max(...died),
    tenants: [...new Set(entries.map(({ tenant }) => tenant))].sort(),
    sample: entries.reduce((newest, entry) => (entry.ref > newest.ref ? entry : newest)).id,
  }
}
