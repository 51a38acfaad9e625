import type { VNode } from 'preact'

export type IconName =
  | 'overview'
  | 'jobs'
  | 'occ'
  | 'dead'
  | 'cal'
  | 'nodes'
  | 'ops'
  | 'gate'
  | 'audit'
  | 'settings'
  | 'search'
  | 'copy'
  | 'chev'
  | 'down'
  | 'left'
  | 'pause'
  | 'play'
  | 'retry'
  | 'edit'
  | 'x'
  | 'more'
  | 'clock'
  | 'fill'
  | 'table'
  | 'tick'
  | 'minus'
  | 'info'
  | 'code'
  | 'user'
  | 'theme'
  | 'menu'
  | 'ext'
  | 'trash'
  | 'graph'

export function Icon({ name, size = 14 }: { name: IconName; size?: number }): VNode {
  return (
    <svg width={size} height={size} aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  )
}
