import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireJob, WireSchedulePreview } from '../../../../src/http/wire.ts'
import { Refusal } from '../../action/action-dialog.tsx'
import { jobWords } from '../../action/job-actions.tsx'
import { api } from '../../data/api.ts'
import { into } from '../../data/into.ts'
import { poll } from '../../data/live.ts'
import { useQuery } from '../../data/query.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { SameAs } from '../../part/command.tsx'
import { Radios, TextField } from '../../part/field.tsx'
import { Icon } from '../../part/icon.tsx'
import { say } from '../../shell/toast.tsx'
import { NextCard } from './next-card.tsx'
import { Lint, Words } from './schedule-words.tsx'

const zones = Intl.supportedValuesOf('timeZone')
type Effect = 'immediate' | 'graceful'

/** The schedule as text and in words, what may surprise about it, and the next instants beside those of now. */
export function ScheduleEditor({ job, onReset }: { job: WireJob; onReset: () => void }): VNode {
  const current = { text: job.schedule?.text ?? '', timezone: job.schedule?.timezone ?? 'UTC' }
  const text = useSignal(current.text)
  const zone = useSignal(current.timezone)
  const effect = useSignal<Effect>('immediate')
  const error = useSignal<Error | null>(null)
  const isChanged = text.value.trim() !== current.text || zone.value !== current.timezone
  const now = useQuery({ key: ['preview', 'schedule', current], read: () => preview(current), isEnabled: current.text !== '' })
  const given = { text: text.value.trim(), timezone: zone.value }
  const isKnownZone = zone.value === 'UTC' || zones.includes(zone.value) || zone.value === current.timezone
  const draft = useQuery({
    key: ['preview', 'schedule', given],
    read: () => preview(given),
    isEnabled: isChanged && given.text !== '' && isKnownZone,
  })
  const shown = isChanged ? draft : now
  const save = async () => {
    error.value = null
    try {
      const { version } = await api.updateJob(job, job.version, { schedule: given, update: effect.value })
      say({ text: `Saved as version ${version}` })
      poll()
    } catch (refused) {
      error.value = refused as Error
    }
  }
  return (
    <div class="cols cols-2 even">
      <section class="card" id="edit-schedule" aria-label="Edit schedule">
        <header>
          <Icon name="edit" size={15} />
          <h2>{may('jobs.update') ? 'Edit schedule' : 'Schedule'}</h2>
          <div class="end">
            {job.declared?.schedule && (
              <span class="hint">
                code says <span class="mono">{job.declared.schedule.text}</span>
              </span>
            )}
            {may('jobs.reset') && job.overridden.includes('schedule') && (
              <Button kind="ghost" isSmall onClick={onReset}>
                Reset to code
              </Button>
            )}
          </div>
        </header>
        <div class="body stack">
          <div class="halves">
            <TextField
              label="Cron, ISO 8601 or RRULE"
              isMono
              value={text.value}
              onInput={into(text)}
              error={isChanged ? (draft.error?.message ?? null) : null}
            />
            <TextField
              label="Zone"
              value={zone.value}
              onInput={into(zone)}
              list={zones}
              error={isKnownZone ? null : 'No zone of that name'}
            />
          </div>
          {shown.data && <Words preview={shown.data} />}
          <Lint preview={shown.data} current={isChanged ? now.data : undefined} own={job} />
          {may('jobs.update') && (
            <Radios
              label="Takes effect"
              value={effect.value}
              values={[
                ['immediate', 'Now'],
                ['graceful', 'After the next run'],
              ]}
              onChange={into(effect)}
              hint={`It becomes version ${job.version + 1}. Planned instants that have not started are taken back. A deploy does not undo this.`}
            />
          )}
          <SameAs
            words={[
              'punctual',
              'jobs',
              'update',
              ...jobWords(job),
              '--schedule',
              given.text,
              '--tz',
              given.timezone,
              '--expect-version',
              String(job.version),
            ]}
          />
          {error.value && <Refusal error={error.value} />}
          {may('jobs.update') && (
            <div class="row justify-end">
              <Button
                isDisabled={!isChanged}
                onClick={() => {
                  text.value = current.text
                  zone.value = current.timezone
                }}
              >
                Discard
              </Button>
              <Button
                kind="primary"
                isDisabled={!isChanged || !draft.data || draft.data.next.length === 0 || draft.error !== null}
                onClick={() => void save()}
              >
                Save as version {job.version + 1}
              </Button>
            </div>
          )}
        </div>
      </section>
      <NextCard given={given} current={now.data} draft={isChanged ? draft.data : undefined} isChanged={isChanged} />
    </div>
  )
}

function preview(schedule: { text: string; timezone: string }): Promise<WireSchedulePreview> {
  return api.preview({ schedule, count: 10 })
}
