import type { ComponentChildren, VNode } from 'preact'

/** The title of a page and one sentence about it. */
export function PageHead({ title, children }: { title: ComponentChildren; children: ComponentChildren }): VNode {
  return (
    <div class="head">
      <div>
        <h1>{title}</h1>
        <p class="sub">{children}</p>
      </div>
    </div>
  )
}
