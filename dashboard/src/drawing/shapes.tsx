import type { VNode } from 'preact'

/** SVG numbers with one decimal. */
export const px = (n: number): number => Math.round(n * 10) / 10

export function Cross({ x, y, size = 3.6 }: { x: number; y: number; size?: number }): VNode {
  const d = `M${px(x - size)} ${px(y - size)}L${px(x + size)} ${px(y + size)}M${px(x + size)} ${px(y - size)}L${px(x - size)} ${px(y + size)}`
  return (
    <g>
      <path class="halo" d={d} />
      <path class="k-failed" d={d} />
    </g>
  )
}

export function Triangle({ x, y, kind, size }: { x: number; y: number; kind: 'k-missed' | 'k-late'; size: number }): VNode {
  const d = `M${px(x)} ${px(y - size)}L${px(x + size)} ${px(y + size * 0.75)}L${px(x - size)} ${px(y + size * 0.75)}Z`
  return (
    <g>
      <path class="halo-fill" d={d} />
      <path class={kind} d={d} />
    </g>
  )
}

export function Ring({ x, y, kind, size = 4.2 }: { x: number; y: number; kind: string; size?: number }): VNode {
  return <circle class={kind} cx={px(x)} cy={y} r={size} />
}

export function Slash({ x, y }: { x: number; y: number }): VNode {
  return (
    <g>
      <Ring x={x} y={y} kind="k-skipped" size={3.8} />
      <path class="k-skipped" d={`M${px(x - 2.6)} ${y + 2.6}L${px(x + 2.6)} ${y - 2.6}`} />
    </g>
  )
}

/** Patterns that every drawing may fill with. Once on a page. */
export function Patterns(): VNode {
  return (
    <svg class="sprite" width="0" height="0" aria-hidden="true">
      <defs>
        <pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path d="M0 0V6" class="hatch-l" />
        </pattern>
        <pattern id="hatch-late" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <path d="M0 0V5" class="hatch-t" />
        </pattern>
      </defs>
    </svg>
  )
}
