import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireGate } from '../../../../src/http/wire.ts'
import { ActionDialog, Warning } from '../../action/action-dialog.tsx'
import { checkJson } from '../../action/payload-field.tsx'
import { api } from '../../data/api.ts'
import { into } from '../../data/into.ts'
import { refresh } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { AreaField, Radios } from '../../part/field.tsx'
import { say } from '../../shell/toast.tsx'

/** Records whether an effect of unknown outcome has happened. */
export function ResolveDialog({ gate, onClose }: { gate: WireGate; onClose: () => void }): VNode {
  const { tenant, scope, key, occurrence } = gate
  const answer = useSignal<'' | 'yes' | 'no'>('')
  const text = useSignal('')
  const { value, error } = checkJson(text.value)
  const happened = answer.value === 'yes'
  const hasResult = happened && value !== undefined
  const run = async () => {
    await api.resolveGate(tenant, { scope, key, happened, ...(hasResult && { result: value as never }) })
    refresh('gates', 'occurrence')
    say({
      text: happened ? `${key} is recorded as done` : `${key} is free: the next try performs it`,
      ...(occurrence && { href: pagePath(`occurrences/${occurrence}`) }),
    })
  }
  return (
    <ActionDialog
      title={`Did ${key} happen?`}
      verb={answer.value === '' ? 'Resolve' : happened ? 'It happened' : 'It did not happen'}
      isDanger={answer.value === 'no'}
      isReady={answer.value !== '' && !(happened && error)}
      command={[
        ...['punctual', 'gate', 'resolve', scope, key],
        ...(tenant === 'default' ? [] : ['--tenant', tenant]),
        ...(answer.value === '' ? ['…'] : [happened ? '--happened' : '--not-happened']),
        ...(hasResult ? ['--result', JSON.stringify(value)] : []),
      ]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        {gate.reason ?? 'A process died between the effect and its record.'} Look at the other system, the payment provider for
        example, before you answer.
      </p>
      <Radios
        label="The effect"
        value={answer.value}
        values={[
          ['yes', 'It happened'],
          ['no', 'It did not happen'],
        ]}
        onChange={into(answer)}
      />
      {happened && (
        <AreaField
          label="Its outcome, JSON, optional"
          value={text.value}
          onInput={into(text)}
          error={error}
          rows={3}
          hint="Later calls with this key return it."
        />
      )}
      {answer.value === 'no' && (
        <Warning>
          <b>The effect is performed at the next try.</b> If it had happened after all, it happens twice.
        </Warning>
      )}
      {occurrence && answer.value !== '' && <p class="hint">Then retry the work: it waits under Dead letters.</p>}
    </ActionDialog>
  )
}
