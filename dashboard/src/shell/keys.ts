import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

type Keys = Readonly<Record<string, () => void>>

/** Overlays of the shell: none, the sheet of keys, or the palette. */
export const overlay = signal<'keys' | 'palette' | 'more' | null>(null)

/** Text typed between the call of the palette and its first drawing. */
export const typedAhead = signal('')

const layers: Keys[] = []
let prefix = ''

/** Keys of a page or a part, as long as it is shown. `g o` means g, then o. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    layers.push(keys)
    return () => void layers.splice(layers.indexOf(keys), 1)
  })
}

export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      overlay.value = overlay.value === 'palette' ? null : 'palette'
      typedAhead.value = ''
      return
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return
    // An overlay that is still being loaded has no dialog yet: the keys are meant for it.
    if (overlay.value === 'palette' && event.key.length === 1) {
      event.preventDefault()
      typedAhead.value += event.key
    }
    if (overlay.value === 'palette' || overlay.value === 'keys') return
    const name = prefix ? `${prefix} ${event.key}` : event.key
    prefix = ''
    if (event.key === 'g' && name === 'g') {
      prefix = 'g'
      return
    }
    const action = layers.findLast((keys) => name in keys)?.[name]
    if (!action) return
    event.preventDefault()
    action()
  })
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}
