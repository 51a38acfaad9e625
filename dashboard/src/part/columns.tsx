import type { VNode } from 'preact'

/** The head of a table. A column without a name holds actions. */
export function Columns({ names }: { names: readonly string[] }): VNode {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name}>{name || <span class="sr">Actions</span>}</th>
        ))}
      </tr>
    </thead>
  )
}
