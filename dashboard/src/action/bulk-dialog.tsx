import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import type { WireOccurrenceFilter } from '../../../src/http/wire.ts'
import { api } from '../data/api.ts'
import { counted, countText } from '../data/count.ts'
import { into } from '../data/into.ts'
import { useQuery } from '../data/query.ts'
import { Radios, TextField } from '../part/field.tsx'
import { Skeleton } from '../part/screen.tsx'
import { say } from '../shell/toast.tsx'
import { ActionDialog, Refusal, Warning } from './action-dialog.tsx'

export type BulkKind = 'retry' | 'discard' | 'cancel' | 'replay'

const verbs: Readonly<Record<BulkKind, { verb: string; done: string; icon: 'retry' | 'trash' | 'x' }>> = {
  retry: { verb: 'Retry', done: 'retried', icon: 'retry' },
  discard: { verb: 'Discard', done: 'discarded', icon: 'trash' },
  cancel: { verb: 'Cancel', done: 'canceled', icon: 'x' },
  replay: { verb: 'Replay', done: 'replayed', icon: 'retry' },
}

interface BulkDialogProps {
  readonly kind: BulkKind
  readonly filter: WireOccurrenceFilter
  /** Their name in the plural. */
  readonly noun: string
  readonly intro?: ComponentChildren
  readonly onClose: () => void
}

/** An act on all that match a filter, as a tracked operation: it counts before it asks. */
export function BulkDialog({ kind, filter, noun, intro, onClose }: BulkDialogProps): VNode {
  const { verb, done, icon } = verbs[kind]
  const spread = useSignal<'10m' | 'now'>('10m')
  const reason = useSignal('')
  const request = {
    kind,
    filter,
    reason: reason.value.trim() || 'from the dashboard',
    ...(kind === 'retry' && spread.value !== 'now' && { spread: spread.value }),
  } as const
  const preview = useQuery({
    key: ['preview', kind, filter],
    read: () => api.previewOperation({ ...request, reason: 'preview' }),
  })
  const acts = preview.data?.acts ?? 0
  const run = async () => {
    const { id } = await api.startOperation(request)
    say({ text: `${verb} ${counted(acts, noun.replace(/s$/, ''), noun)}`, operation: id })
  }
  return (
    <ActionDialog
      title={
        preview.data
          ? `${verb} ${countText(acts, preview.data.capped)} of ${countText(preview.data.matches, preview.data.capped)} ${noun}?`
          : `${verb} ${noun}?`
      }
      verb={`${verb} ${countText(acts, preview.data?.capped)}`}
      icon={icon}
      isDanger={kind === 'discard' || kind === 'cancel'}
      isReady={acts > 0}
      command={bulkCommand(kind, filter, kind === 'retry' && spread.value !== 'now' ? spread.value : null, reason.value)}
      run={run}
      onClose={onClose}
    >
      {intro && <p class="sec">{intro}</p>}
      {preview.error && <Refusal error={preview.error} />}
      {!preview.data && !preview.error && <Skeleton />}
      {preview.data && (
        <div class="sum">
          <div>
            <b>{countText(preview.data.matches, preview.data.capped)}</b>
            <span>match now</span>
          </div>
          <div>
            <b>{countText(acts, preview.data.capped)}</b>
            <span>will be {done}</span>
          </div>
          <div>
            <b>{preview.data.leftOut.reduce((sum, { count }) => sum + count, 0)}</b>
            <span>
              {preview.data.leftOut.length > 0
                ? `left out: ${preview.data.leftOut.map((one) => one.reason).join(', ')}`
                : 'left out'}
            </span>
          </div>
        </div>
      )}
      {preview.data?.warnings.map((warning) => (
        <Warning key={warning} mark="failed">
          {warning}
        </Warning>
      ))}
      {kind === 'retry' && (
        <Radios
          label="Start"
          value={spread.value}
          values={[
            ['10m', 'Spread over 10 minutes'],
            ['now', 'At once'],
          ]}
          onChange={into(spread)}
        />
      )}
      <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}

function bulkCommand(kind: BulkKind, filter: WireOccurrenceFilter, spread: string | null, reason: string): string[] {
  const { state, source, ...rest } = filter
  const flags = Object.entries(rest).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, String(value)],
  )
  const lists = [
    ...(state && kind !== 'retry' && kind !== 'discard' ? ['--state', state.join(',')] : []),
    ...(source ? ['--source', source.join(',')] : []),
  ]
  const verb = kind === 'retry' || kind === 'discard' ? ['dead', kind] : kind === 'cancel' ? ['cancel'] : ['replay']
  const isOfAll = verb[0] === 'dead' && flags.length + lists.length === 0
  return [
    'punctual',
    ...verb,
    ...(isOfAll ? ['--all'] : []),
    ...flags,
    ...lists,
    ...(spread ? ['--spread', spread] : []),
    ...(reason ? ['--reason', reason] : []),
  ]
}
