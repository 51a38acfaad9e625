import { signal } from '@preact/signals'
import type { LaneBin, LaneMark } from './lane.ts'

export type PopoverSubject =
  | { readonly job: string; readonly mark: LaneMark }
  | { readonly job: string; readonly bin: LaneBin; readonly now: number }

/** The mark under the pointer or the focus, and its place. */
export const popover = signal<{ subject: PopoverSubject; x: number; y: number } | null>(null)

export function show(element: Element, subject: PopoverSubject): void {
  const box = element.getBoundingClientRect()
  popover.value = { subject, x: Math.max(box.left, Math.min(box.right, box.left + 200)), y: box.bottom }
}

export function hide(): void {
  popover.value = null
}
