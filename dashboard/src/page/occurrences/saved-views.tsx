import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { into } from '../../data/into.ts'
import { pagePath } from '../../data/root.ts'
import { storedList } from '../../data/stored.ts'
import { Button } from '../../part/button.tsx'
import { Dialog } from '../../part/dialog.tsx'
import { TextField } from '../../part/field.tsx'
import { Icon } from '../../part/icon.tsx'

type Query = Readonly<Record<string, string | undefined>>

interface View {
  readonly name: string
  /** The parameters of the address, as text. */
  readonly query: string
}

const views = storedList<View>(
  'views',
  (one): one is View => typeof (one as View).name === 'string' && typeof (one as View).query === 'string',
)

/** Filters under a name, kept by this browser. The one that the address has is marked. */
export function SavedViews({ query }: { query: Query }): VNode | null {
  if (views.value.length === 0) return null
  return (
    <nav class="chips" aria-label="Saved views">
      {views.value.map((view) => (
        <span class="chip view" key={view.name}>
          <a
            class="ell"
            title={view.name}
            href={pagePath('occurrences', Object.fromEntries(new URLSearchParams(view.query)))}
            {...(view.query === textOf(query) && { 'aria-current': 'true' as const })}
          >
            {view.name}
          </a>
          <button
            type="button"
            aria-label={`Forget the view ${view.name}`}
            onClick={() => {
              views.value = views.value.filter((one) => one !== view)
            }}
          >
            <Icon name="x" size={11} />
          </button>
        </span>
      ))}
    </nav>
  )
}

/** Keeps the filter of the address under a name; one of the same name is replaced. */
export function SaveView({ query }: { query: Query }): VNode | null {
  const name = useSignal<string | null>(null)
  const text = textOf(query)
  if (text === '' || views.value.some((one) => one.query === text)) return null
  const close = () => {
    name.value = null
  }
  return (
    <>
      <Button
        kind="ghost"
        isSmall
        onClick={() => {
          name.value = Object.values(query).filter(Boolean).join(' ')
        }}
      >
        Save view
      </Button>
      {name.value !== null && (
        <Dialog
          title="Save this view"
          foot={
            <Button kind="primary" type="submit" isDisabled={!name.value.trim()}>
              Save
            </Button>
          }
          onClose={close}
          onSubmit={() => {
            const saved = { name: name.value!.trim(), query: text }
            views.value = [...views.value.filter((one) => one.name !== saved.name), saved]
            close()
          }}
        >
          <TextField
            label="Name"
            value={name.value}
            onInput={into(name)}
            hint="This browser keeps it. To share it, copy the address."
            isFocused
          />
        </Dialog>
      )}
    </>
  )
}

function textOf(query: Query): string {
  return new URLSearchParams(Object.entries(query).flatMap(([name, value]) => (value ? [[name, value]] : []))).toString()
}
