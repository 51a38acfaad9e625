import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../src/http/wire.ts'
import { api } from '../data/api.ts'
import { into } from '../data/into.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { Button } from '../part/button.tsx'
import { Radios, TextField } from '../part/field.tsx'
import { Skeleton } from '../part/screen.tsx'
import { say } from '../shell/toast.tsx'
import { ActionDialog, Warning } from './action-dialog.tsx'
import { checkJson, type PayloadDraft, PayloadField, sendPayload, startPayload } from './payload-field.tsx'

interface OccurrenceDialogProps {
  readonly occurrence: Pick<WireOccurrence, 'id' | 'tenant' | 'job' | 'state' | 'tasks' | 'sameCause' | 'payload' | 'redacted'>
  readonly onClose: () => void
}

export function RetryDialog({
  occurrence: { id, tenant, job, sameCause, payload, redacted },
  isEditing = false,
  onClose,
}: OccurrenceDialogProps & { readonly isEditing?: boolean }): VNode {
  const delay = useSignal<'0' | '10m' | '1h'>('0')
  const isEdited = useSignal(isEditing && redacted.length === 0)
  const draft = useSignal<PayloadDraft>(startPayload(null, payload))
  const { value, error } = checkJson(draft.value.text)
  const isChanged = isEdited.value && value !== undefined && JSON.stringify(value) !== JSON.stringify(payload)
  const known = useQuery({
    key: ['job', tenant, job],
    read: (signal) => api.job({ tenant, name: job }, signal),
    isEnabled: isEdited.value,
  })
  const run = async () => {
    const body = { ...(delay.value !== '0' && { delay: delay.value }), ...(isChanged && { payload: value as never }) }
    await sendPayload(draft, () => api.retry(id, body))
    say({ text: `${job} gets another chance${isChanged ? ', with another payload' : ''}` })
  }
  return (
    <ActionDialog
      title={`Retry this dead letter of ${job}?`}
      verb="Retry"
      icon="retry"
      isReady={!(isEdited.value && error)}
      command={[
        ...['punctual', 'dead', 'retry', id],
        ...(delay.value === '0' ? [] : ['--delay', delay.value]),
        ...(isChanged ? ['--payload', JSON.stringify(value)] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        It gets fresh retries. Finished tasks do not run again.
        {sameCause > 0 && ` ${sameCause} others died of the same cause; retry them together under Dead letters.`}
      </p>
      <Radios
        label="Start"
        value={delay.value}
        values={[
          ['0', 'At once'],
          ['10m', 'In 10 minutes'],
          ['1h', 'In 1 hour'],
        ]}
        onChange={into(delay)}
      />
      {isEdited.value && known.isLoading && <Skeleton />}
      {isEdited.value && !known.isLoading && (
        <>
          <PayloadField schema={known.data?.payloadSchema ?? null} draft={draft} />
          <p class="hint">Finished tasks keep their results. The old payload is not kept.</p>
        </>
      )}
      {!isEdited.value && redacted.length === 0 && (
        <div>
          <Button
            isSmall
            icon="edit"
            onClick={() => {
              isEdited.value = true
            }}
          >
            Edit the payload
          </Button>
        </div>
      )}
      {isEditing && redacted.length > 0 && (
        <Warning>The payload has values that are hidden from you. Only an admin can edit it.</Warning>
      )}
    </ActionDialog>
  )
}

/** The same for a letter of which only the id is known. */
export function EditDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }): VNode | null {
  const found = useQuery({ key: ['occurrence', id], read: (signal) => api.occurrence(id, signal) })
  return found.data ? <RetryDialog occurrence={found.data} isEditing onClose={onClose} /> : null
}

export function DiscardDialog({ occurrence: { id, job }, onClose }: OccurrenceDialogProps): VNode {
  const reason = useSignal('')
  const run = async () => {
    await api.discard(id, reason.value ? { reason: reason.value } : {})
    say({ text: `The dead letter of ${job} is discarded` })
  }
  return (
    <ActionDialog
      title={`Discard this dead letter of ${job}?`}
      verb="Discard"
      icon="trash"
      isDanger
      command={['punctual', 'dead', 'discard', id, ...(reason.value ? ['--reason', reason.value] : [])]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">It ends as canceled. Its record stays until its retention removes it; a replay can still run it again.</p>
      <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}

export function CancelDialog({ occurrence: { id, job, state }, onClose }: OccurrenceDialogProps): VNode {
  const reason = useSignal('')
  const run = async () => {
    const { outcome } = await api.cancel(id, reason.value ? { reason: reason.value } : {})
    say({ text: outcome === 'canceling' ? `${job} is told to stop` : `${job} is canceled` })
  }
  return (
    <ActionDialog
      title={state === 'running' ? `Stop this run of ${job}?` : `Cancel this occurrence of ${job}?`}
      verb={state === 'running' ? 'Stop it' : 'Cancel it'}
      icon="x"
      isDanger
      command={['punctual', 'cancel', id, ...(reason.value ? ['--reason', reason.value] : [])]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        {state === 'running'
          ? 'Its handler gets the abort signal. One that ignores it is written off, and its later writes are refused.'
          : 'It does not run. Its key becomes free.'}
      </p>
      <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}

export function ReplayDialog({ occurrence: { id, job, tasks }, onClose }: OccurrenceDialogProps): VNode {
  const reason = useSignal('')
  const some = useSignal<readonly string[]>([])
  const given = reason.value.trim()
  const run = async () => {
    const created = await api.replay(id, { reason: given, ...(some.value.length > 0 && { tasks: [...some.value] }) })
    say({ text: `${job} runs again`, href: pagePath(`occurrences/${created.id}`) })
  }
  return (
    <ActionDialog
      title={`Run this occurrence of ${job} again?`}
      verb="Replay"
      icon="retry"
      isReady={given !== ''}
      command={['punctual', 'replay', id, '--reason', given || '…', ...some.value.flatMap((task) => ['--task', task])]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">A new occurrence with the same payload and instant, linked to this one. This one stays as it is.</p>
      {tasks.length > 1 && (
        <fieldset class="field">
          <legend class="label">Tasks, all unless you choose</legend>
          <div class="row wrap gap-x-4 gap-y-2">
            {tasks.map(({ name }) => (
              <label class="row" key={name}>
                <input
                  class="check"
                  type="checkbox"
                  checked={some.value.includes(name)}
                  onChange={() => {
                    some.value = some.value.includes(name) ? some.value.filter((one) => one !== name) : [...some.value, name]
                  }}
                />
                {name}
              </label>
            ))}
          </div>
        </fieldset>
      )}
      <TextField label="Reason" value={reason.value} onInput={into(reason)} isFocused isRequired />
    </ActionDialog>
  )
}

export function RescheduleDialog({ occurrence: { id, job }, onClose }: OccurrenceDialogProps): VNode {
  const delay = useSignal('15m')
  const run = async () => {
    await api.reschedule(id, { delay: delay.value })
    say({ text: `${job} is moved` })
  }
  return (
    <ActionDialog
      title={`Move this occurrence of ${job}?`}
      verb="Move"
      icon="clock"
      isReady={delay.value.trim() !== ''}
      command={['punctual', 'occurrences', 'reschedule', id, '--delay', delay.value]}
      run={run}
      onClose={onClose}
    >
      <TextField
        label="Due in"
        value={delay.value}
        onInput={into(delay)}
        hint="From now: 90s, 15m, 2h, 1d or PT1H30M"
        isFocused
      />
    </ActionDialog>
  )
}
