import type { ComponentChildren, VNode } from 'preact'

/** Objects and lists this deep, or with so many entries, are folded at first. */
const openDepth = 3
const openEntries = 60
/** Entries of one object or list that are drawn. */
const mostEntries = 500
const longText = 400

/** A JSON value, indented and coloured. Objects and lists fold. */
export function JsonView({ value, label }: { value: unknown; label: string }): VNode {
  return (
    <div class="json" role="region" tabIndex={0} aria-label={label}>
      <Value value={value} depth={0} />
    </div>
  )
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined'
}

function Value({ value, depth, name, isLast = true }: ValueProps): VNode {
  const before = name !== undefined && (
    <>
      <span class="key">{JSON.stringify(name)}</span>:{' '}
    </>
  )
  const comma = isLast ? '' : ','
  const entries = entriesOf(value)
  if (!entries || entries.length === 0)
    return (
      <div>
        {before}
        <Leaf value={value} />
        {comma}
      </div>
    )
  const isList = Array.isArray(value)
  const [open, close] = isList ? ['[', ']'] : ['{', '}']
  return (
    <details open={depth < openDepth && entries.length <= openEntries}>
      <summary>
        {before}
        {open}
        <span class="folded">
          {' '}
          {entries.length} {isList ? 'items' : 'fields'} {close}
          {comma}
        </span>
      </summary>
      <div class="inside">
        {entries.slice(0, mostEntries).map(([field, one], at) => (
          <Value key={field} {...(!isList && { name: field })} value={one} depth={depth + 1} isLast={at === entries.length - 1} />
        ))}
        {entries.length > mostEntries && <div class="dim">… {entries.length - mostEntries} more: copy it to see them</div>}
      </div>
      <div>
        {close}
        {comma}
      </div>
    </details>
  )
}

interface ValueProps {
  readonly value: unknown
  readonly depth: number
  readonly name?: string
  readonly isLast?: boolean
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] | null {
  return typeof value === 'object' && value !== null && !isRaw(value) ? Object.entries(value) : null
}

/** A whole number that a double cannot hold. */
function isRaw(value: object): boolean {
  return (JSON as { isRawJSON?: (value: unknown) => boolean }).isRawJSON?.(value) ?? false
}

function Leaf({ value }: { value: unknown }): ComponentChildren {
  if (typeof value === 'string') {
    const text = JSON.stringify(value)
    return (
      <span class="s">
        {text.slice(0, longText)}
        {text.length > longText && <span class="dim">… {(text.length - longText).toLocaleString('en-US')} more characters</span>}
      </span>
    )
  }
  if (typeof value === 'object' && value !== null && !isRaw(value)) return Array.isArray(value) ? '[]' : '{}'
  return <span class="n">{JSON.stringify(value)}</span>
}
