import type { VNode } from 'preact'
import { type Mark, markWord } from './mark.ts'

/** The shape of a state. Beside it stands its word, or a label for those who cannot see it. */
export function Glyph({ mark, label, class: extra = '' }: { mark: Mark; label?: string; class?: string }): VNode {
  return (
    <svg class={`g s-${mark} ${extra}`} {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': 'true' })}>
      <use href={`#s-${mark}`} />
    </svg>
  )
}

export function State({ mark, text }: { mark: Mark; text?: string }): VNode {
  return (
    <span class={`st s-${mark}`}>
      <Glyph mark={mark} />
      {text ?? markWord(mark)}
    </span>
  )
}

export function Badge({ mark, text }: { mark: Mark; text?: string }): VNode {
  return (
    <span class={`badge s-${mark}`}>
      <Glyph mark={mark} />
      {text ?? markWord(mark)}
    </span>
  )
}
