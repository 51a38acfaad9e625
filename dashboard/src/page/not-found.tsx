import type { VNode } from 'preact'
import { root } from '../data/root.ts'
import { Empty } from '../part/screen.tsx'

export function NotFound(): VNode {
  return (
    <section class="card">
      <Empty title="There is no page at this address.">
        <a class="link" href={root}>
          Go to the overview
        </a>
      </Empty>
    </section>
  )
}
