import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { poll } from '../data/live.ts'
import { RequestError } from '../data/request.ts'
import { Button } from '../part/button.tsx'
import { SameAs } from '../part/command.tsx'
import { Dialog } from '../part/dialog.tsx'
import { Glyph } from '../part/glyph.tsx'
import type { IconName } from '../part/icon.tsx'

interface ActionDialogProps {
  readonly title: ComponentChildren
  /** On the button: the verb, and how many. */
  readonly verb: string
  readonly icon?: IconName
  readonly isDanger?: boolean
  readonly isReady?: boolean
  /** The command of the terminal that does the same. */
  readonly command: readonly string[]
  readonly children?: ComponentChildren
  readonly run: () => Promise<unknown>
  readonly onClose: () => void
}

/** Asks before something is done, shows the command for it, and stays open when the server refuses. */
export function ActionDialog({
  title,
  verb,
  icon,
  isDanger,
  isReady = true,
  command,
  children,
  run,
  onClose,
}: ActionDialogProps): VNode {
  const error = useSignal<Error | null>(null)
  const isBusy = useSignal(false)
  const submit = async () => {
    if (isBusy.value || !isReady) return
    isBusy.value = true
    error.value = null
    try {
      await run()
      poll()
      onClose()
    } catch (refused) {
      error.value = refused as Error
      requestAnimationFrame(() => document.querySelector<HTMLElement>('dialog [aria-invalid]')?.focus())
    }
    isBusy.value = false
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      onSubmit={() => void submit()}
      foot={
        <Button
          type="submit"
          kind={isDanger ? 'danger' : 'primary'}
          {...(icon && { icon })}
          isDisabled={isBusy.value || !isReady}
        >
          {verb}
        </Button>
      }
    >
      {children}
      <SameAs words={command} />
      {error.value && <Refusal error={error.value} />}
    </Dialog>
  )
}

export function Refusal({ error }: { error: Error }): VNode {
  return (
    <div class="note s-failed" role="alert">
      <Glyph mark="failed" />
      <div>
        <b>{error.message}</b> {error instanceof RequestError && <span class="mono">{error.code}</span>}
      </div>
    </div>
  )
}

export function Warning({
  children,
  mark = 'late',
}: {
  children: ComponentChildren
  mark?: 'late' | 'failed' | 'completed'
}): VNode {
  return (
    <div class={`note s-${mark}`}>
      <Glyph mark={mark} />
      <div>{children}</div>
    </div>
  )
}
