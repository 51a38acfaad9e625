import { signal } from '@preact/signals'

/** Names of occurrences that have been seen, by id: an address has only the id. */
export const occurrenceTitle = signal<Readonly<Record<string, string>>>({})

export function nameOccurrence(id: string, name: string): void {
  if (occurrenceTitle.peek()[id] !== name) occurrenceTitle.value = { ...occurrenceTitle.peek(), [id]: name }
}
