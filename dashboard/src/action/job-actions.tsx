import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireJob, WireJobLine } from '../../../src/http/wire.ts'
import { api, type JobRef } from '../data/api.ts'
import { into } from '../data/into.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { Radios, TextField } from '../part/field.tsx'
import { say } from '../shell/toast.tsx'
import { now, zoneOf } from '../time/zone.ts'
import { timeText } from '../time/zoned.ts'
import { ActionDialog, Refusal, Warning } from './action-dialog.tsx'
import { checkJson, type PayloadDraft, PayloadField, sendPayload, startPayload } from './payload-field.tsx'

interface JobDialogProps {
  readonly job: Pick<WireJobLine, 'tenant' | 'name' | 'schedule' | 'version'>
  readonly onClose: () => void
}

export const jobWords = ({ tenant, name }: JobRef): string[] => [name, ...(tenant === 'default' ? [] : ['--tenant', tenant])]

export function TriggerDialog({ job, onClose }: { job: WireJob; onClose: () => void }): VNode {
  const draft = useSignal<PayloadDraft>(startPayload(job.payloadSchema, job.payload))
  const key = useSignal('')
  const reason = useSignal('')
  const parsed = checkJson(draft.value.text)
  const hasPayload = draft.value.text.trim() !== '' && draft.value.isChanged
  const run = async () => {
    const body = {
      ...(hasPayload && { payload: parsed.value }),
      ...(key.value && { key: key.value }),
      ...(reason.value && { reason: reason.value }),
    }
    const { id } = await sendPayload(draft, () => api.trigger(job, body))
    say({ text: `${job.name} is triggered`, href: pagePath(`occurrences/${id}`) })
  }
  return (
    <ActionDialog
      title={`Run ${job.name} now?`}
      verb="Trigger"
      icon="play"
      isReady={!hasPayload || parsed.error === null}
      command={[
        'punctual',
        'trigger',
        ...jobWords(job),
        ...(hasPayload ? ['--payload', draft.value.text.trim()] : []),
        ...(key.value ? ['--key', key.value] : []),
        ...(reason.value ? ['--reason', reason.value] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">It runs once, beside its schedule, and waits if another run of it is under way.</p>
      <PayloadField schema={job.payloadSchema} draft={draft} />
      <TextField
        label="Key, optional"
        value={key.value}
        onInput={into(key)}
        hint="A live occurrence with the same key is returned instead of a second one."
      />
      <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} />
    </ActionDialog>
  )
}

const lengths = { '15m': '15 minutes', '1h': '1 hour', '4h': '4 hours', '1d': '1 day', open: 'until I resume it' } as const

export function PauseDialog({ job, onClose }: JobDialogProps): VNode {
  const span = useSignal<keyof typeof lengths>('1h')
  const reason = useSignal('')
  const run = async () => {
    await api.pause(job, { ...(span.value !== 'open' && { for: span.value }), ...(reason.value && { reason: reason.value }) })
    say({ text: `${job.name} is paused` })
  }
  return (
    <ActionDialog
      title={`Pause ${job.name}?`}
      verb="Pause"
      icon="pause"
      command={[
        'punctual',
        'pause',
        ...jobWords(job),
        ...(span.value === 'open' ? [] : ['--for', span.value]),
        ...(reason.value ? ['--reason', reason.value] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      <Radios
        label="For"
        value={span.value}
        values={Object.entries(lengths) as [keyof typeof lengths, string][]}
        onChange={into(span)}
        hint="Instants of the schedule meanwhile are skipped and recorded as such. Enqueued work waits. A run under way goes on."
      />
      <TextField label="Reason, kept with the pause" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}

export function ResumeDialog({ job, onClose }: JobDialogProps): VNode {
  const run = async () => {
    await api.resume(job)
    say({ text: `${job.name} goes on` })
  }
  return (
    <ActionDialog
      title={`Resume ${job.name}?`}
      verb="Resume"
      icon="play"
      command={['punctual', 'resume', ...jobWords(job)]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">Its schedule fires again from now on, and work that waited starts.</p>
    </ActionDialog>
  )
}

const day = 86_400_000

export function BackfillDialog({ job, onClose }: JobDialogProps): VNode {
  const zone = zoneOf(job.schedule?.timezone)
  const from = useSignal(localInput(now.peek() - day))
  const to = useSignal(localInput(now.peek()))
  const mode = useSignal<'missing' | 'failed' | 'all'>('missing')
  const range = { from: isoOf(from.value), to: isoOf(to.value) }
  const isValid = range.from !== null && range.to !== null && range.from < range.to
  const request = {
    kind: 'backfill' as const,
    job: job.name,
    tenant: job.tenant,
    from: range.from ?? '',
    to: range.to ?? '',
    mode: mode.value,
  }
  const preview = useQuery({
    key: ['preview', request],
    read: () => api.previewOperation(request),
    isEnabled: isValid,
    keepsLast: true,
  })
  const acts = isValid ? (preview.data?.acts ?? 0) : 0
  const run = async () => {
    const { id } = await api.startOperation(request)
    say({ text: `Backfill of ${job.name}`, operation: id })
  }
  return (
    <ActionDialog
      title={
        preview.data && isValid
          ? `Run ${acts} ${acts === 1 ? 'instant' : 'instants'} of ${job.name} again?`
          : `Backfill ${job.name}`
      }
      verb={`Backfill ${acts}`}
      icon="fill"
      isReady={isValid && acts > 0}
      command={[
        'punctual',
        'backfill',
        ...jobWords(job),
        '--from',
        range.from ?? '',
        '--to',
        range.to ?? '',
        '--mode',
        mode.value,
      ]}
      run={run}
      onClose={onClose}
    >
      <div class="halves">
        <TextField label="From" type="datetime-local" value={from.value} onInput={into(from)} />
        <TextField
          label="To"
          type="datetime-local"
          value={to.value}
          onInput={into(to)}
          error={isValid ? null : 'The end must lie after the start'}
        />
      </div>
      <Radios
        label="Which instants"
        value={mode.value}
        values={[
          ['missing', 'Without a run'],
          ['failed', 'Failed or missed'],
          ['all', 'All'],
        ]}
        onChange={into(mode)}
      />
      {preview.data && isValid && (
        <div class="sum">
          <div>
            <b>{preview.data.matches}</b>
            <span>instants in the range</span>
          </div>
          <div>
            <b>{acts}</b>
            <span>will be run, one after another</span>
          </div>
          <div>
            <b>{preview.data.leftOut.reduce((sum, { count }) => sum + count, 0)}</b>
            <span>
              left out{preview.data.leftOut.length > 0 && `: ${preview.data.leftOut.map(({ reason }) => reason).join(', ')}`}
            </span>
          </div>
        </div>
      )}
      {preview.data && isValid && preview.data.first.length > 0 && (
        <p class="hint">
          First:{' '}
          {preview.data.first
            .slice(0, 4)
            .map((at) => timeText(Date.parse(at), zone, now.value))
            .join(', ')}{' '}
          {zone}
        </p>
      )}
      {preview.error && isValid && <Refusal error={preview.error} />}
    </ActionDialog>
  )
}

/** As an input of type datetime-local has it, in the browser's zone. */
function localInput(at: number): string {
  const date = new Date(at - new Date(at).getTimezoneOffset() * 60_000)
  return date.toISOString().slice(0, 16)
}

function isoOf(local: string): string | null {
  const at = Date.parse(local)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

export function RollbackDialog({ job, version, onClose }: JobDialogProps & { version: number }): VNode {
  const run = async () => {
    await api.rollback(job, job.version, version)
    say({ text: `${job.name} is back at what version ${version} said` })
  }
  return (
    <ActionDialog
      title={`Make version ${version} hold again, as version ${job.version + 1}?`}
      verb="Roll back"
      icon="retry"
      command={['punctual', 'jobs', 'rollback', ...jobWords(job), String(version)]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        Instants that the current version has planned and that have not started are taken back. No run is lost or doubled.
      </p>
    </ActionDialog>
  )
}

export function ResetDialog({ job, onClose }: JobDialogProps): VNode {
  const run = async () => {
    await api.reset(job, job.version)
    say({ text: `${job.name} follows its code again` })
  }
  return (
    <ActionDialog
      title={`Take back what was changed by hand in ${job.name}?`}
      verb="Reset to code"
      command={['punctual', 'jobs', 'reset', ...jobWords(job)]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">From then on the job is what its code declares.</p>
    </ActionDialog>
  )
}

export function RetireDialog({ job, onClose }: JobDialogProps): VNode {
  const run = async () => {
    await api.retire(job)
    say({ text: `${job.name} is retired` })
  }
  return (
    <ActionDialog
      title={`Retire ${job.name}?`}
      verb="Retire"
      isDanger
      command={['punctual', 'jobs', 'retire', ...jobWords(job)]}
      run={run}
      onClose={onClose}
    >
      <Warning>
        <b>It fires no more.</b> Its history stays. Code that declares it again brings it back.
      </Warning>
    </ActionDialog>
  )
}

export function EnableDialog({ job, isEnabled, onClose }: JobDialogProps & { isEnabled: boolean }): VNode {
  const run = async () => {
    await api.updateJob(job, job.version, { enabled: !isEnabled })
    say({ text: `${job.name} is ${isEnabled ? 'disabled' : 'enabled'}` })
  }
  return (
    <ActionDialog
      title={`${isEnabled ? 'Disable' : 'Enable'} ${job.name}?`}
      verb={isEnabled ? 'Disable' : 'Enable'}
      isDanger={isEnabled}
      command={['punctual', 'jobs', 'update', ...jobWords(job), isEnabled ? '--disable' : '--enable']}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        {isEnabled
          ? 'While it is disabled no instants are generated, and none is recorded as skipped. A pause records them.'
          : 'Its schedule fires again from now on.'}
      </p>
    </ActionDialog>
  )
}
