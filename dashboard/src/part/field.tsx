import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'

interface TextProps {
  readonly label: ComponentChildren
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: ComponentChildren
  readonly error?: string | null
  readonly placeholder?: string
  readonly isMono?: boolean
  readonly isFocused?: boolean
  readonly type?: 'text' | 'password' | 'number' | 'datetime-local'
  readonly list?: readonly string[]
  readonly isRequired?: boolean
}

export function TextField({
  label,
  value,
  onInput,
  hint,
  error,
  placeholder,
  isMono,
  isFocused,
  type = 'text',
  list,
  isRequired,
}: TextProps): VNode {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={`in ${isMono ? 'mono' : ''}`}
        {...(type === 'text' ? {} : ({ type } as object))}
        value={value}
        placeholder={placeholder}
        onInput={(event) => onInput(event.currentTarget.value)}
        autofocus={isFocused ?? false}
        required={isRequired ?? false}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-hint` : undefined}
        list={list ? `${id}-list` : undefined}
        autocomplete="off"
        spellcheck={false}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      <Hint id={id} hint={hint} error={error} />
    </div>
  )
}

function Hint({ id, hint, error }: { id: string; hint: ComponentChildren; error: string | null | undefined }): VNode | null {
  if (!error && !hint) return null
  return (
    <span id={`${id}-hint`} class={error ? 'hint bad' : 'hint'}>
      {error || hint}
    </span>
  )
}

export function AreaField({ label, value, onInput, hint, error, rows = 6 }: TextProps & { readonly rows?: number }): VNode {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        class="in area mono"
        rows={rows}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        spellcheck={false}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-hint` : undefined}
      />
      <Hint id={id} hint={hint} error={error} />
    </div>
  )
}

export function SelectField<Value extends string>({
  label,
  value,
  values,
  onChange,
  hint,
  error,
}: {
  readonly label: ComponentChildren
  readonly value: Value
  readonly values: readonly (readonly [Value, string])[]
  readonly onChange: (value: Value) => void
  readonly hint?: ComponentChildren
  readonly error?: string | null
}): VNode {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        class="in"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as Value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={error || hint ? `${id}-hint` : undefined}
      >
        {values.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
      <Hint id={id} hint={hint} error={error} />
    </div>
  )
}

export function Radios<Value extends string>({
  label,
  value,
  values,
  onChange,
  hint,
}: {
  readonly label: string
  readonly value: Value
  readonly values: readonly (readonly [Value, string])[]
  readonly onChange: (value: Value) => void
  readonly hint?: ComponentChildren
}): VNode {
  const name = useId()
  return (
    <fieldset class="field">
      <legend class="label">{label}</legend>
      <div class="row wrap gap-x-4.5 gap-y-2">
        {values.map(([one, text]) => (
          <label key={one} class="row">
            <input class="radio" type="radio" name={name} checked={one === value} onChange={() => onChange(one)} />
            {text}
          </label>
        ))}
      </div>
      {hint && <span class="hint">{hint}</span>}
    </fieldset>
  )
}
