import type { VNode } from 'preact'
import { px } from './shapes.tsx'

const width = 140
const height = 26

/** Counts over time as small bars. */
export function Spark({ counts, label }: { counts: readonly number[]; label: string }): VNode {
  const top = Math.max(...counts, 1)
  const each = width / Math.max(1, counts.length)
  return (
    <svg width={width} height={height} role="img" aria-label={label}>
      {counts.map((count, at) => {
        const tall = count > 0 ? Math.max(2, (count / top) * height) : 1
        return (
          <rect
            key={at}
            class={count > 0 ? 'm-failed' : 'm-none'}
            x={px(at * each + 0.5)}
            y={px(height - tall)}
            width={px(Math.max(1, each - 1.2))}
            height={px(tall)}
            rx={count > 0 ? 1 : 0}
          />
        )
      })}
    </svg>
  )
}
