import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { WireOccurrenceLine } from '../../../../src/http/wire.ts'

interface CalmList {
  readonly items: readonly WireOccurrenceLine[]
  /** Lines that have come since and are not shown yet. */
  readonly fresh: number
  readonly showFresh: () => void
}

/** While `isStill`, lines keep their place: states change in them, and new lines are counted instead of pushing others away. */
export function useCalmList(key: string, newest: readonly WireOccurrenceLine[], isStill: boolean): CalmList {
  const kept = useSignal<{ readonly key: string; readonly items: readonly WireOccurrenceLine[] }>({ key, items: newest })
  const isKept = isStill && kept.value.key === key && kept.value.items.length > 0
  useEffect(() => {
    if (!isKept && kept.value.items !== newest) kept.value = { key, items: newest }
  }, [isKept, newest, key])
  if (!isKept) return { items: newest, fresh: 0, showFresh: () => {} }
  const now = new Map(newest.map((line) => [line.id, line]))
  const known = new Set(kept.value.items.map(({ id }) => id))
  return {
    items: kept.value.items.map((line) => now.get(line.id) ?? line),
    fresh: newest.filter(({ id }) => !known.has(id)).length,
    showFresh: () => {
      kept.value = { key, items: newest }
    },
  }
}
