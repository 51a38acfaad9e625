import type { ComponentChildren, VNode } from 'preact'
import { Glyph } from './glyph.tsx'
import type { Mark } from './mark.ts'

/** One of the numbers at the head of a page, a link to its list. */
export function Figure({
  mark,
  label,
  href,
  kind,
  value,
  small,
  isDropped = false,
  children,
}: {
  mark: Mark
  label: string
  href: string
  kind: string
  value: VNode | string
  small?: VNode | string
  /** Left out on a narrow screen. */
  isDropped?: boolean
  children: ComponentChildren
}): VNode {
  const isZero = kind === 'zero' || (kind === '' && (mark === 'late' || mark === 'failed'))
  return (
    <a href={href}>
      <div class={`k ${isZero ? 'zero' : ''}`}>
        <Glyph mark={mark} />
        {label}
      </div>
      <div class={`v ${kind}`}>
        {value} {small && <small class={isDropped ? 'drop' : ''}>{small}</small>}
      </div>
      <div class="h ell">{children}</div>
    </a>
  )
}
