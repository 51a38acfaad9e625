import type { JobView } from './job-view.ts'

/** The unusual states of a job, as lists show them. */
export function jobMarks({ retired, enabled, paused, orphaned, overridden }: JobView): readonly string[] {
  const limits = { retired, disabled: !enabled, paused, orphaned, overridden: overridden.length > 0 }
  return Object.entries(limits).flatMap(([mark, isSo]) => (isSo ? [mark] : []))
}
