import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

/** Actions that do not fit beside the main ones. An item is a link or an act. */
export function Menu({ items }: { items: readonly (readonly [string, string | (() => void)])[] }): VNode {
  const isOpen = useSignal(false)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen.value) return
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === 'Escape' : !box.current?.contains(event.target as Node))
        isOpen.value = false
    }
    addEventListener('mousedown', close)
    addEventListener('keydown', close)
    return () => {
      removeEventListener('mousedown', close)
      removeEventListener('keydown', close)
    }
  }, [isOpen.value])
  return (
    <div class="menu" ref={box}>
      <Button
        icon="more"
        label="More"
        isExpanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value
        }}
      />
      {isOpen.value && (
        <ul>
          {items.map(([text, action]) => (
            <li key={text}>
              {typeof action === 'string' ? (
                <a href={action}>{text}</a>
              ) : (
                <button
                  type="button"
                  onClick={() => {
                    isOpen.value = false
                    action()
                  }}
                >
                  {text}
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
