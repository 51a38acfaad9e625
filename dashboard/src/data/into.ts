import type { Signal } from '@preact/signals'

/** A listener that puts what it gets into a signal. */
export function into<Value>(signal: Signal<Value>): (value: Value) => void {
  return (value) => {
    signal.value = value
  }
}
