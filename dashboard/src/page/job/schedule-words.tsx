import type { VNode } from 'preact'
import type { WireJob, WireSchedulePreview } from '../../../../src/http/wire.ts'
import { Warning } from '../../action/action-dialog.tsx'
import { wordsOf } from '../../data/schedule-words.ts'
import { Glyph } from '../../part/glyph.tsx'
import { clockText } from '../../time/zoned.ts'

export function Words({ preview: { schedule, next } }: { preview: WireSchedulePreview }): VNode {
  const [first] = next
  return (
    <div class="row">
      <Glyph mark={first ? 'completed' : 'late'} />
      <span>
        <b class="strong">{wordsOf(schedule)}</b>, {schedule.timezone ?? 'UTC'}{' '}
        <span class="dim">{first ? `(next ${clockText(Date.parse(first.at), 'UTC')} UTC)` : '(it never fires)'}</span>
      </span>
    </div>
  )
}

/** Warnings about a schedule: clock changes, and other jobs at the same instant. */
export function Lint({
  preview: shown,
  current,
  own,
}: {
  preview: WireSchedulePreview | undefined
  current: WireSchedulePreview | undefined
  own: WireJob
}): VNode | null {
  if (!shown) return null
  const others = shown.sameInstant.filter(({ name, tenant }) => name !== own.name || tenant !== own.tenant)
  const [first] = shown.next
  return (
    <div class="stack gap-2">
      {others.length > 0 && first && (
        <Warning>
          <b>
            {others.length} other {others.length === 1 ? 'job starts' : 'jobs start'} at {first.local.slice(-8)}.
          </b>{' '}
          {others
            .slice(0, 3)
            .map(({ name }) => name)
            .join(', ')}
          {others.length > 3 && ` and ${others.length - 3} more`}. A <span class="mono">spread</span> parts them.
        </Warning>
      )}
      {shown.warnings.map(({ code, message }) => (
        <Warning key={code}>{message}</Warning>
      ))}
      {shown.warnings.length === 0 && shown.clockChange && (
        <Warning mark="completed">
          <b>No clock change touches it.</b>
          {current && current.warnings.length > 0 && ` The current text has a warning: ${current.warnings[0]!.message}`}
        </Warning>
      )}
    </div>
  )
}
