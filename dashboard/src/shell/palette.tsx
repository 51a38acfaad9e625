import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import { api } from '../data/api.ts'
import { jobShape, jobStateText, mainMark } from '../data/marks.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { Glyph } from '../part/glyph.tsx'
import { Icon, type IconName } from '../part/icon.tsx'
import type { Mark } from '../part/mark.ts'
import { zoneMode } from '../time/zone.ts'
import { overlay } from './keys.ts'
import { mainPages, morePages } from './pages.ts'
import { toggleTheme } from './theme.ts'

interface Entry {
  readonly group: 'Jobs' | 'Occurrences' | 'Pages' | 'Actions'
  readonly text: string
  readonly end?: string
  readonly mark?: Mark
  readonly icon?: IconName
  readonly act: () => void
}

const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text)

/** Jobs, occurrences by key or id, pages and actions from one line. */
export function Palette(): VNode {
  const { route } = useLocation()
  const text = useSignal('')
  const at = useSignal(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const typed = text.value.trim()
  const jobs = useQuery({
    key: ['jobs', 'palette', typed],
    read: (signal) => api.jobs({ search: typed, limit: 6 }, signal),
    keepsLast: true,
  })
  const found = useQuery({
    key: ['occurrences', 'palette', typed],
    read: (signal) => api.occurrences({ key: typed, limit: 5 }, signal),
    isEnabled: typed.length > 1 && !isId(typed),
    keepsLast: true,
  })
  useEffect(() => dialog.current?.showModal(), [])
  const close = () => {
    overlay.value = null
  }
  const go = (path: string) => () => {
    close()
    route(path)
  }
  const entries: Entry[] = [
    ...(isId(typed)
      ? [{ group: 'Occurrences' as const, text: typed, icon: 'occ' as const, act: go(pagePath(`occurrences/${typed}`)) }]
      : []),
    ...(jobs.data?.items ?? []).map((job) => ({
      group: 'Jobs' as const,
      text: job.name,
      end: `${job.tenant === 'default' ? '' : `${job.tenant} · `}${jobStateText(job)}`,
      mark: jobShape(mainMark(job.marks)),
      act: go(pagePath(`jobs/${encodeURIComponent(job.tenant)}/${encodeURIComponent(job.name)}`)),
    })),
    ...(typed.length > 1 ? (found.data?.items ?? []) : []).map((line) => ({
      group: 'Occurrences' as const,
      text: `${line.job} ${line.key ?? line.idempotencyKey ?? ''}`,
      end: line.state,
      mark: line.late ? ('late' as const) : line.state,
      act: go(pagePath(`occurrences/${line.id}`)),
    })),
    ...[...mainPages, ...morePages].map((page) => ({
      group: 'Pages' as const,
      text: page.title,
      end: `g ${page.key}`,
      icon: page.icon,
      act: go(pagePath(page.path)),
    })),
    {
      group: 'Actions' as const,
      text: 'Light or dark',
      icon: 'theme' as const,
      act: () => {
        toggleTheme()
        close()
      },
    },
    {
      group: 'Actions' as const,
      text: 'Show times in UTC',
      icon: 'clock' as const,
      act: () => {
        zoneMode.value = 'utc'
        close()
      },
    },
    {
      group: 'Actions' as const,
      text: 'Show times in my zone',
      icon: 'clock' as const,
      act: () => {
        zoneMode.value = 'mine'
        close()
      },
    },
    {
      group: 'Actions' as const,
      text: 'Keys',
      end: '?',
      icon: 'info' as const,
      act: () => {
        overlay.value = 'keys'
      },
    },
  ]
  const shown = entries
    .filter(
      (entry) =>
        entry.group === 'Jobs' || entry.group === 'Occurrences' || entry.text.toLowerCase().includes(typed.toLowerCase()),
    )
    .slice(0, 14)
  const current = Math.min(at.value, Math.max(0, shown.length - 1))
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Search or jump to"
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onMouseDown={(event) => event.target === dialog.current && close()}
    >
      <div class="q">
        <Icon name="search" size={16} />
        <input
          class="bare"
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-${current}`}
          aria-label="Search or jump to"
          placeholder="A job, a key, an id, a page"
          value={text.value}
          autofocus
          onInput={(event) => {
            text.value = event.currentTarget.value
            at.value = 0
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') at.value = Math.min(shown.length - 1, current + 1)
            else if (event.key === 'ArrowUp') at.value = Math.max(0, current - 1)
            else if (event.key === 'Enter') shown[current]?.act()
            else return
            event.preventDefault()
          }}
        />
        <kbd>esc</kbd>
      </div>
      <ul id="palette-list" role="listbox" aria-label="Results">
        {shown.map((entry, index) => (
          <>
            {entry.group !== shown[index - 1]?.group && (
              <li class="hd3" role="presentation" key={entry.group}>
                {entry.group}
              </li>
            )}
            <li
              key={`${entry.group}${entry.text}${entry.end ?? ''}`}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === current}
              class={`i ${index === current ? 'on' : ''}`}
              onMouseMove={() => {
                at.value = index
              }}
              onClick={entry.act}
            >
              {entry.mark ? <Glyph mark={entry.mark} /> : entry.icon && <Icon name={entry.icon} />}
              <span class="ell">{entry.text}</span>
              {entry.end && <span class="end">{entry.end}</span>}
            </li>
          </>
        ))}
        {shown.length === 0 && <li class="hd3">Nothing of that name.</li>}
      </ul>
      <div class="keys" aria-hidden="true">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>↵</kbd> open
        </span>
      </div>
    </dialog>
  )
}
