import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOccurrenceFilter, WireOccurrenceLine } from '../../../../src/http/wire.ts'
import { ActionDialog } from '../../action/action-dialog.tsx'
import { BulkDialog, type BulkKind } from '../../action/bulk-dialog.tsx'
import { api } from '../../data/api.ts'
import { counted, countText } from '../../data/count.ts'
import { into } from '../../data/into.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { TextField } from '../../part/field.tsx'
import { say } from '../../shell/toast.tsx'

interface BulkBarProps {
  readonly lines: readonly WireOccurrenceLine[]
  /** All that match, on every page. */
  readonly isAll: boolean
  readonly matching: { readonly count: number; readonly capped: boolean }
  readonly filter: WireOccurrenceFilter
  readonly onAll: () => void
  readonly onClear: () => void
}

const live = ['pending', 'waiting', 'running', 'retrying']

/** Actions on the selection: on this page one by one, over all that match as one operation. */
export function BulkBar({ lines, isAll, matching, filter, onAll, onClear }: BulkBarProps): VNode {
  const asked = useSignal<BulkKind | null>(null)
  const close = () => {
    asked.value = null
  }
  const kinds = kindsFor(isAll ? (filter.state ?? []) : lines.map(({ state }) => state))
  const verbs = { retry: 'Retry…', discard: 'Discard…', cancel: 'Cancel…', replay: 'Replay…' } as const
  const icons = { retry: 'retry', discard: 'trash', cancel: 'x', replay: 'retry' } as const
  return (
    <>
      <div class="bulk" role="region" aria-label="Selection">
        <b>{isAll ? `All ${countText(matching.count, matching.capped)} selected` : `${lines.length} selected`}</b>
        {!isAll && matching.count > lines.length && (
          <button type="button" class="u" onClick={onAll}>
            Select all {countText(matching.count, matching.capped)} that match
          </button>
        )}
        {kinds.map((kind, at) => (
          <Button
            key={kind}
            icon={icons[kind]}
            class={at === 0 ? 'fillc' : ''}
            onClick={() => {
              asked.value = kind
            }}
          >
            {verbs[kind]}
          </Button>
        ))}
        <Button kind="ghost" icon="x" label="Clear the selection" onClick={onClear} />
      </div>
      {asked.value !== null &&
        (isAll ? (
          <BulkDialog kind={asked.value} filter={filter} noun="occurrences" onClose={close} />
        ) : (
          <SelectedDialog kind={asked.value} lines={lines} onClose={close} onDone={onClear} />
        ))}
    </>
  )
}

function kindsFor(states: readonly string[]): BulkKind[] {
  if (!may('operations.start')) return []
  const kinds: BulkKind[] = []
  if (states.length === 0 || states.includes('dead')) kinds.push('retry', 'discard')
  if (states.length === 0 || states.some((state) => live.includes(state))) kinds.push('cancel')
  if (states.length === 0 || states.some((state) => !live.includes(state) && state !== 'dead')) kinds.push('replay')
  return kinds
}

function SelectedDialog({
  kind,
  lines,
  onClose,
  onDone,
}: {
  kind: BulkKind
  lines: readonly WireOccurrenceLine[]
  onClose: () => void
  onDone: () => void
}): VNode {
  const reason = useSignal('')
  const fitting = lines.filter(({ state }) =>
    kind === 'retry' || kind === 'discard' ? state === 'dead' : kind === 'cancel' ? live.includes(state) : !live.includes(state),
  )
  const because = reason.value.trim() ? { reason: reason.value.trim() } : {}
  const acts = {
    retry: (id: string) => api.retry(id, {}),
    discard: (id: string) => api.discard(id, because),
    cancel: (id: string) => api.cancel(id, because),
    replay: (id: string) => api.replay(id, { reason: reason.value.trim() || 'from the dashboard' }),
  }
  const run = async () => {
    for (const { id } of fitting) await acts[kind](id)
    say({ text: `${kind[0]!.toUpperCase()}${kind.slice(1)}: ${counted(fitting.length, 'occurrence')}` })
    onDone()
  }
  const verb = kind[0]!.toUpperCase() + kind.slice(1)
  const [first] = fitting
  return (
    <ActionDialog
      title={`${verb} ${fitting.length} of ${lines.length} selected?`}
      verb={`${verb} ${fitting.length}`}
      isDanger={kind === 'discard' || kind === 'cancel'}
      isReady={fitting.length > 0}
      command={[
        'punctual',
        ...(kind === 'retry' || kind === 'discard' ? ['dead', kind] : [kind]),
        first?.id ?? '…',
        ...(reason.value ? ['--reason', reason.value] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      {fitting.length < lines.length && (
        <p class="sec">{lines.length - fitting.length} are left out: their state does not allow it.</p>
      )}
      {kind !== 'retry' && <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} isFocused />}
    </ActionDialog>
  )
}
