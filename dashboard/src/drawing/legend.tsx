import type { ComponentChildren, VNode } from 'preact'

/** The shapes of the timeline and their words. */
export function Legend(): VNode {
  return (
    <div class="legend only-desk" aria-hidden="true">
      <Sign text="completed">
        <rect class="m-completed" x="5" y="0" width="4" height="12" rx="1.5" />
      </Sign>
      <Sign text="failed">
        <path class="k-failed" d="M3.4 2.4l7.2 7.2M10.6 2.4l-7.2 7.2" />
      </Sign>
      <Sign text="running">
        <rect class="m-running" width="14" height="12" rx="1.5" />
      </Sign>
      <Sign text="waiting">
        <circle class="k-waiting" cx="7" cy="6" r="4.6" />
        <circle class="k-dotfill" cx="7" cy="6" r="1.7" />
      </Sign>
      <Sign text="late">
        <path class="k-late" d="M7 1L12.4 10.6H1.6Z" />
      </Sign>
      <Sign text="missed">
        <path class="k-missed" d="M7 1L12.4 10.6H1.6Z" />
      </Sign>
      <Sign text="skipped">
        <circle class="k-skipped" cx="7" cy="6" r="4" />
        <path class="k-skipped" d="M4.2 8.8l5.6-5.6" />
      </Sign>
      <Sign text="to come">
        <rect class="m-pending" x="4.6" y="0.8" width="4.4" height="10.4" rx="1.5" />
      </Sign>
    </div>
  )
}

export function Sign({ text, children }: { text: string; children: ComponentChildren }): VNode {
  return (
    <span>
      <svg width="14" height="12" viewBox="0 0 14 12" aria-hidden="true">
        {children}
      </svg>
      {text}
    </span>
  )
}
