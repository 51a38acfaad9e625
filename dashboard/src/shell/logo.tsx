import type { VNode } from 'preact'

export function Logo({ size = 22 }: { size?: number }): VNode {
  return (
    <svg width={size} height={size} viewBox="0 0 22 22" aria-hidden="true">
      <circle cx="4.6" cy="11" r="3.9" fill="currentColor" />
      <path class="logo-now" d="M11.4 1.6v18.8" />
      <circle cx="17.6" cy="11" r="3" fill="none" stroke="currentColor" stroke-width="1.8" />
    </svg>
  )
}
