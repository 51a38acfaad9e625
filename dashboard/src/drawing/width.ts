import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useCallback, useRef } from 'preact/hooks'

interface Measured<Element> {
  /** For the element whose width is wanted; it may come and go. */
  readonly ref: (element: Element | null) => void
  readonly element: RefObject<Element | null>
  /** Followed as it changes; 0 until the element is on the page. */
  readonly width: number
}

export function useWidth<Element extends HTMLElement>(): Measured<Element> {
  const element = useRef<Element | null>(null)
  const observer = useRef<ResizeObserver | null>(null)
  const width = useSignal(0)
  const ref = useCallback((next: Element | null) => {
    observer.current?.disconnect()
    element.current = next
    if (!next) return
    const read = () => {
      width.value = next.clientWidth
    }
    read()
    observer.current = new ResizeObserver(read)
    observer.current.observe(next)
  }, [])
  return { ref, element, width: width.value }
}
