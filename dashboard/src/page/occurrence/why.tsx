import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { counted } from '../../data/count.ts'
import { occurrenceMark } from '../../data/marks.ts'
import { pagePath } from '../../data/root.ts'
import { Glyph } from '../../part/glyph.tsx'
import { Icon } from '../../part/icon.tsx'
import type { Mark } from '../../part/mark.ts'
import { Message } from '../../part/message.tsx'
import { duration } from '../../time/duration.ts'

const whyMarks: Readonly<Record<string, Mark>> = {
  running: 'running',
  'long-run': 'late',
  'not-due': 'pending',
  retrying: 'retrying',
  'retry-loop': 'late',
  overlap: 'waiting',
  concurrency: 'waiting',
  rate: 'waiting',
  'catch-up': 'waiting',
  paused: 'paused',
  disabled: 'disabled',
  'no-node': 'late',
  'no-handler': 'late',
  'slots-full': 'waiting',
}

/** The reasons for its state. */
export function Why({ occurrence }: { occurrence: WireOccurrence }): VNode {
  const { why, state, tasks, sameCause, cause, startedAt, scheduledAt, late } = occurrence
  const failed = tasks.filter((task) => task.state === 'failed' || task.state === 'timeout')
  const lateMs = startedAt ? Date.parse(startedAt) - Date.parse(scheduledAt) : 0
  return (
    <section class="card whyc" aria-label="Why">
      <header>
        <Icon name="info" size={15} />
        <h2>Why</h2>
      </header>
      <ul class="why why-list">
        {state === 'dead' && (
          <li>
            <Glyph mark="dead" />
            <span>
              Dead:{' '}
              {failed.length > 0 ? (
                <b class="strong">
                  {failed
                    .map(
                      ({ name, attempts }) =>
                        `${name} failed ${counted(attempts.filter((one) => one.state === 'failed' || one.state === 'timeout').length, 'time')}`,
                    )
                    .join(', ')}
                </b>
              ) : (
                'it failed for good'
              )}
              . Nothing more happens until you retry or discard it.
            </span>
          </li>
        )}
        {why
          .filter(({ code }) => !(state === 'dead' && code === 'ended'))
          .map(({ code, message }) => (
            <li key={code + message}>
              <Glyph mark={code === 'ended' ? occurrenceMark(occurrence) : late ? 'late' : (whyMarks[code] ?? 'pending')} />
              <span>
                <Message text={message} seconds />.
              </span>
            </li>
          ))}
        {sameCause > 0 && (
          <li>
            <Glyph mark="failed" />
            <span>
              <a class="link" href={pagePath('dead-letters', { cause: cause ?? undefined })}>
                {sameCause > 99 ? '100 others or more' : counted(sameCause, 'other')}
              </a>{' '}
              died of the same cause.
            </span>
          </li>
        )}
        {tasks
          .filter((task) => task.state === 'canceled' && task.attempts.length === 0 && failed.length > 0)
          .map((task) => (
            <li key={task.name}>
              <Glyph mark="canceled" />
              <span>
                {task.name} did not run: {failed[0]!.name} failed.
              </span>
            </li>
          ))}
        {lateMs > 1000 && occurrence.source === 'schedule' && (
          <li>
            <Glyph mark="waiting" />
            <span>Started {duration(lateMs)} after it was due.</span>
          </li>
        )}
      </ul>
    </section>
  )
}
