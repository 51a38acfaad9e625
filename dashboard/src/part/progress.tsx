import type { VNode } from 'preact'

/** 0 to 1. */
export function Progress({ value }: { value: number }): VNode {
  const share = Math.round(Math.min(1, Math.max(0, value)) * 1000) / 10
  return (
    <div class="bar" role="progressbar" aria-valuenow={share} aria-valuemin={0} aria-valuemax={100} aria-label="Progress">
      <svg width="100%" height="4" aria-hidden="true">
        <rect class="m-running" width={`${share}%`} height="4" rx="2" />
      </svg>
    </div>
  )
}
