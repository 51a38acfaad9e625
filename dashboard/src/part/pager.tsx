import type { ComponentChildren, VNode } from 'preact'
import { Button } from './button.tsx'

/** Below a list that is read page by page. `next` goes to the older page; null on the last. */
export function Pager({
  isFirst,
  next,
  children,
}: {
  isFirst: boolean
  next: (() => void) | null
  children: ComponentChildren
}): VNode {
  return (
    <div class="pager">
      <span class="dim">{children}</span>
      {!(isFirst && next === null) && (
        <span class="row">
          <Button isDisabled={isFirst} onClick={() => history.back()}>
            Newer
          </Button>
          <Button isDisabled={next === null} onClick={() => next?.()}>
            Older
          </Button>
        </span>
      )}
    </div>
  )
}
