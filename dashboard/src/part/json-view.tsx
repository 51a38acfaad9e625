import type { ComponentChildren, VNode } from 'preact'

/** A JSON value, indented and coloured. */
export function JsonView({ value, label }: { value: unknown; label: string }): VNode {
  return (
    <pre class="json" role="region" tabIndex={0} aria-label={label}>
      {coloured(jsonText(value))}
    </pre>
  )
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? 'undefined'
}

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|\b(?:true|false|null)\b/g
const mostTokens = 2000

function coloured(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(tokens)) {
    if (out.length > mostTokens) break
    out.push(text.slice(from, match.index))
    from = match.index + match[0].length
    out.push(
      <span key={from} class={match[0].startsWith('"') ? (text[from] === ':' ? 'key' : 's') : 'n'}>
        {match[0]}
      </span>,
    )
  }
  return [...out, text.slice(from)]
}
