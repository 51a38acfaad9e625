// The filter of the list of occurrences: tokens in the bar, parameters in the address, fields of the request.
import type { WireOccurrenceFilter } from '../../../../src/http/wire.ts'

export const filterNames = ['job', 'tenant', 'key', 'entity', 'source', 'cause', 'due'] as const
export type FilterName = (typeof filterNames)[number]
export type Filter = Readonly<Partial<Record<FilterName, string>>>

export const sources = ['schedule', 'manual', 'deferred', 'timer', 'replay', 'recovery', 'backfill']
export const spans = ['1h', '24h', '7d', '30d']
const units: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

export const states = [
  'pending',
  'waiting',
  'running',
  'retrying',
  'dead',
  'failed',
  'completed',
  'canceled',
  'skipped',
  'missed',
] as const
export type StateName = (typeof states)[number]

export function filterOf(query: Readonly<Record<string, string>>): Filter {
  return Object.fromEntries(filterNames.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
}

/** `key:value` as it is typed; null while it is not one. */
export function tokenOf(text: string): { name: FilterName; value: string } | null {
  const [, name, value] = /^(\w+):\s*(.+)$/.exec(text.trim()) ?? []
  const known = filterNames.find((one) => one === name)
  return known && value ? { name: known, value: value.trim() } : null
}

/** The request for a filter. A span counts back from now, and is rounded so the same read serves for a while. */
export function requestOf(filter: Filter, state: StateName | null, now: number): WireOccurrenceFilter {
  const { due, source, ...rest } = filter
  const span = due ? spanMs(due) : null
  return {
    ...rest,
    ...(source && { source: source.split(',') as NonNullable<WireOccurrenceFilter['source']> }),
    ...(state && { state: [state] }),
    ...(span !== null && { from: new Date(Math.floor((now - span) / 60_000) * 60_000).toISOString() }),
  }
}

function spanMs(text: string): number | null {
  const [, count, unit] = /^(\d+)\s*([mhd])$/.exec(text) ?? []
  return count && unit ? Number(count) * units[unit]! : null
}
