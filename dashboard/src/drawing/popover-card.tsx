import type { VNode } from 'preact'
import { Glyph } from '../part/glyph.tsx'
import { type Mark, markWord } from '../part/mark.ts'
import { duration, relative } from '../time/duration.ts'
import { now, pageZone } from '../time/zone.ts'
import { clockText, dayText } from '../time/zoned.ts'
import { popover } from './popover.ts'

/** Others end without having run: the time to their end is none of work. */
const hasRun: readonly Mark[] = ['completed', 'failed', 'dead', 'running']

/** The meaning of a mark of the timeline: its instant in its zone, relative and in UTC, and its outcome. */
export function PopoverCard(): VNode | null {
  const shown = popover.value
  if (!shown) return null
  const { subject, x, y } = shown
  const zone = pageZone.value
  const left = Math.min(x, innerWidth - 340)
  const isLow = y > innerHeight - 150
  const place = { left: `${Math.max(8, left)}px`, ...(isLow ? { bottom: `${innerHeight - y + 34}px` } : { top: `${y + 8}px` }) }
  if ('bin' in subject) {
    const { bin } = subject
    return (
      <div class="popover" role="status" style={place}>
        <p class="strong">{subject.job}</p>
        <p>
          {clockText(bin.from, zone)} to {clockText(bin.to, zone)} <span class="dim">{dayText(bin.from, zone, now.value)}</span>
        </p>
        <p class="dim">
          {[bin.done && `${bin.done} completed`, bin.failed && `${bin.failed} failed`, bin.coming && `${bin.coming} to come`]
            .filter(Boolean)
            .join(', ') || 'nothing'}
        </p>
      </div>
    )
  }
  const { at, endAt, mark, text } = subject.mark
  return (
    <div class="popover" role="status" style={place}>
      <p class="row between">
        <span class="strong ell">{subject.job}</span>
        <span class={`st s-${mark}`}>
          <Glyph mark={mark} />
          {markWord(mark)}
        </span>
      </p>
      <p>
        {dayText(at, zone, now.value)} {clockText(at, zone, true)} {zone}
      </p>
      <p class="dim">
        {relative(at, now.value)} · {clockText(at, 'UTC', true)} UTC
        {endAt !== null && endAt > at && hasRun.includes(mark) ? ` · took ${duration(endAt - at)}` : ''}
      </p>
      {text && <p class={`mono s-${mark} mark-text`}>{text}</p>}
    </div>
  )
}
