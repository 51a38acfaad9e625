import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { Icon } from '../../part/icon.tsx'
import { useKeys } from '../../shell/keys.ts'
import { type Filter, type FilterName, filterNames, sources, spans, tokenOf } from './filter.ts'

/** Tokens such as `job:invoice`, with suggestions as you type. */
export function FilterBar({
  filter,
  onChange,
  exportHref,
  children,
}: {
  filter: Filter
  onChange: (filter: Filter) => void
  exportHref: string
  /** Stands before the export. */
  children: ComponentChildren
}): VNode {
  const text = useSignal('')
  const id = useId()
  useKeys({ '/': () => document.getElementById(id)?.focus() })
  const take = (token: { name: FilterName; value: string }) => {
    onChange({ ...filter, [token.name]: token.value })
    text.value = ''
  }
  const suggestions = useSuggestions(text.value)
  return (
    <div class="filterbar">
      <Icon name="search" />
      {filterNames
        .filter((name) => filter[name])
        .map((name) => (
          <span class="tok" key={name}>
            <span>{name}:</span>
            <b>{filter[name]}</b>
            <button type="button" aria-label={`Remove ${name}`} onClick={() => onChange({ ...filter, [name]: undefined })}>
              <Icon name="x" size={11} />
            </button>
          </span>
        ))}
      <span class="typed">
        <input
          id={id}
          class="bare"
          value={text.value}
          placeholder={Object.values(filter).some(Boolean) ? '' : 'Filter: job:invoice key:order-42 due:24h'}
          aria-label="Filter occurrences"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            text.value = event.currentTarget.value
          }}
          onKeyDown={(event) => {
            const token = tokenOf(text.value)
            if (event.key === 'Enter') {
              event.preventDefault()
              if (token) take(token)
              else if (suggestions[0]) text.value = suggestions[0]
              else if (/^[0-9a-f-]{36}$/.test(text.value.trim())) location.assign(`${location.pathname}/${text.value.trim()}`)
            }
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        {suggestions.length > 0 && (
          <ul class="suggest">
            {suggestions.map((one) => (
              <li key={one}>
                <button
                  type="button"
                  onMouseDown={(event) => {
                    event.preventDefault()
                    const token = tokenOf(one)
                    if (token) take(token)
                    else text.value = one
                    document.getElementById(id)?.focus()
                  }}
                >
                  {one}
                </button>
              </li>
            ))}
          </ul>
        )}
      </span>
      {children}
      <a class="btn ghost sm" href={exportHref} download>
        Export
      </a>
      <kbd class="only-desk">/</kbd>
    </div>
  )
}

/** Names of filters first, then values of the one that is named. */
function useSuggestions(text: string): string[] {
  const [, name = '', value = ''] = /^(\w+):\s*(.*)$/.exec(text) ?? []
  const jobs = useQuery({
    key: ['jobs', 'suggest', value],
    read: (signal) => api.jobs({ search: value, limit: 8 }, signal),
    isEnabled: name === 'job',
    keepsLast: true,
  })
  const tenants = useQuery({ key: ['tenants'], read: (signal) => api.tenants(signal), isEnabled: name === 'tenant' })
  if (text === '') return []
  if (name === '') return filterNames.filter((one) => one.startsWith(text)).map((one) => `${one}:`)
  const values =
    {
      job: jobs.data?.items.map((job) => job.name),
      tenant: tenants.data?.items.map((one) => one.name),
      source: sources,
      due: spans,
    }[name] ?? []
  return values
    .filter((one) => one.startsWith(value) && one !== value)
    .map((one) => `${name}:${one}`)
    .slice(0, 8)
}
