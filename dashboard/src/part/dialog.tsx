import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

/** A dialog over the page. Escape and a click beside it close it; focus stays inside and goes back. */
export function Dialog({
  title,
  children,
  foot,
  onClose,
  onSubmit,
}: {
  readonly title: ComponentChildren
  readonly children: ComponentChildren
  readonly foot: ComponentChildren
  readonly onClose: () => void
  readonly onSubmit: () => void
}): VNode {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    return () => shown.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        <div class="dh">
          <h2 id="dialog-title">{title}</h2>
          <Button kind="ghost" isSmall icon="x" label="Close" onClick={onClose} class="ml-auto" />
        </div>
        <div class="dbody stack">{children}</div>
        <div class="foot">
          <Button onClick={onClose}>Cancel</Button>
          {foot}
        </div>
      </form>
    </dialog>
  )
}
