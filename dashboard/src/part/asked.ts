import { useSignal } from '@preact/signals'

export interface AskedFor<Value> {
  readonly value: Value | null
  readonly ask: (value: Value) => () => void
  readonly close: () => void
}

/** The subject of an open dialog; null while it is closed. */
export function useAsked<Value>(): AskedFor<Value> {
  const asked = useSignal<Value | null>(null)
  return {
    value: asked.value,
    ask: (value) => () => {
      asked.value = value
    },
    close: () => {
      asked.value = null
    },
  }
}
