import { signal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { api } from '../data/api.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { may } from '../data/session.ts'
import { Button } from '../part/button.tsx'
import { Glyph } from '../part/glyph.tsx'
import { Progress } from '../part/progress.tsx'

interface Toast {
  readonly text: ComponentChildren
  readonly href?: string
  /** An operation whose progress is shown. */
  readonly operation?: string
}

const toast = signal<Toast | null>(null)
let timer: ReturnType<typeof setTimeout> | undefined

/** Says briefly what has been done. Operations stay until they are over or closed. */
export function say(next: Toast): void {
  toast.value = next
  clearTimeout(timer)
  if (!next.operation) timer = setTimeout(close, 6000)
}

function close(): void {
  toast.value = null
}

export function ToastCard(): VNode | null {
  const shown = toast.value
  if (!shown) return null
  if (shown.operation) return <OperationToast id={shown.operation} text={shown.text} />
  return (
    <div class="toast row" role="status">
      <Glyph mark="completed" />
      <span class="grow">{shown.text}</span>
      {shown.href && (
        <a class="btn sm" href={shown.href}>
          Open
        </a>
      )}
      <Button kind="ghost" isSmall icon="x" label="Close" onClick={close} />
    </div>
  )
}

function OperationToast({ id, text }: { id: string; text: ComponentChildren }): VNode {
  const { data } = useQuery({ key: ['operations', id], read: (signal) => api.operation(id, signal), everyMs: 1000 })
  const isOver = data?.endedAt != null
  const mark =
    !data || !isOver ? 'running' : data.state === 'completed' ? 'completed' : data.state === 'canceled' ? 'canceled' : 'failed'
  return (
    <div class="toast" role="status">
      <div class="row">
        <Glyph mark={mark} />
        <span class="strong grow">{text}</span>
        <span class="dim hint">{data?.message ?? (isOver ? data.state : 'starts')}</span>
      </div>
      <Progress value={isOver && data.state === 'completed' ? 1 : (data?.done ?? 0)} />
      <div class="row">
        <span class="dim hint grow">{isOver ? 'It is over' : 'Goes on when you close the page'}</span>
        {!isOver && may('operations.abort') && (
          <Button kind="ghost" isSmall onClick={() => void api.abortOperation(id)}>
            Abort
          </Button>
        )}
        <a class="btn sm" href={pagePath('operations')} onClick={close}>
          Open
        </a>
        <Button kind="ghost" isSmall icon="x" label="Close" onClick={close} />
      </div>
    </div>
  )
}
