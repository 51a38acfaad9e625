import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { api } from '../data/api.ts'
import { into } from '../data/into.ts'
import { TextField } from '../part/field.tsx'
import { say } from '../shell/toast.tsx'
import { ActionDialog, Warning } from './action-dialog.tsx'

export function PauseAllDialog({ isPaused, onClose }: { isPaused: boolean; onClose: () => void }): VNode {
  const reason = useSignal('')
  const run = async () => {
    if (isPaused) await api.resumeAll({})
    else await api.pauseAll(reason.value ? { reason: reason.value } : {})
    say({ text: isPaused ? 'Everything goes on' : 'Everything is paused' })
  }
  if (isPaused)
    return (
      <ActionDialog
        title="Resume everything?"
        verb="Resume all"
        icon="play"
        command={['punctual', 'resume', '--all']}
        run={run}
        onClose={onClose}
      >
        <p class="sec">Schedules fire again from now on. Work that was enqueued meanwhile starts at once, as slots allow.</p>
      </ActionDialog>
    )
  return (
    <ActionDialog
      title="Pause every job of every tenant?"
      verb="Pause all"
      icon="pause"
      isDanger
      command={['punctual', 'pause', '--all', ...(reason.value ? ['--reason', reason.value] : [])]}
      run={run}
      onClose={onClose}
    >
      <Warning>
        <b>Scheduled instants are skipped</b> until you resume, and enqueued work waits. What runs now goes on to its end.
      </Warning>
      <TextField label="Reason, kept with the pause" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}
