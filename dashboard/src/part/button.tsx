import type { ComponentChildren, VNode } from 'preact'
import { Icon, type IconName } from './icon.tsx'

interface ButtonProps {
  readonly children?: ComponentChildren
  readonly icon?: IconName
  /** Needed where there is only an icon. */
  readonly label?: string
  readonly kind?: 'primary' | 'danger' | 'ghost' | ''
  readonly isSmall?: boolean
  readonly isDisabled?: boolean
  readonly onClick?: () => void
  readonly type?: 'button' | 'submit'
  readonly class?: string
  readonly isExpanded?: boolean
}

export function Button({
  children,
  icon,
  label,
  kind = '',
  isSmall,
  isDisabled,
  onClick,
  type = 'button',
  isExpanded,
  ...rest
}: ButtonProps): VNode {
  const isIcon = children === undefined
  return (
    <button
      type={type}
      class={`btn ${kind} ${isIcon ? 'icon' : ''} ${isSmall ? 'sm' : ''} ${rest.class ?? ''}`}
      disabled={isDisabled ?? false}
      onClick={onClick}
      {...(label && { 'aria-label': label, title: label })}
      {...(isExpanded !== undefined && { 'aria-expanded': isExpanded })}
    >
      {icon && <Icon name={icon} size={isSmall && isIcon ? 13 : 14} />}
      {children}
    </button>
  )
}

export function Segments<Value extends string>({
  values,
  value,
  label,
  onChange,
}: {
  readonly values: readonly (readonly [Value, string])[]
  readonly value: Value
  readonly label: string
  readonly onChange: (value: Value) => void
}): VNode {
  return (
    <div class="seg" role="group" aria-label={label}>
      {values.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </div>
  )
}
