import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useKeys } from '../shell/keys.ts'

/** A place in a list that j and k move and Enter opens; -1 before the first move. */
export function useCursor(
  length: number,
  open: (index: number) => void,
  keys: Readonly<Record<string, (index: number) => void>> = {},
): number {
  const at = useSignal(-1)
  const move = (by: number) => {
    at.value = Math.min(length - 1, Math.max(0, at.value + by))
  }
  const own = Object.fromEntries(Object.entries(keys).map(([key, act]) => [key, () => at.value >= 0 && act(at.value)]))
  useKeys({ j: () => move(1), k: () => move(-1), ...own, ...(at.value >= 0 && { Enter: () => open(at.value) }) } as Readonly<
    Record<string, () => void>
  >)
  useEffect(() => {
    document.querySelector('tr.cur')?.scrollIntoView({ block: 'nearest' })
  }, [at.value])
  return at.value
}
