import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { WireJobsPage } from '../../../src/http/wire.ts'
import { api } from '../data/api.ts'
import { jobShape, jobStateText, mainMark } from '../data/marks.ts'
import { useQuery } from '../data/query.ts'
import { pagePath } from '../data/root.ts'
import { may } from '../data/session.ts'
import { Glyph } from '../part/glyph.tsx'
import { Icon, type IconName } from '../part/icon.tsx'
import type { Mark } from '../part/mark.ts'
import { zoneMode } from '../time/zone.ts'
import { overlay, typedAhead } from './keys.ts'
import { mainPages, morePages } from './pages.ts'
import { toggleTheme } from './theme.ts'

interface Entry {
  readonly group: 'Jobs' | 'Occurrences' | 'Pages' | 'Actions'
  readonly text: string
  readonly end?: string
  readonly mark?: Mark
  readonly icon?: IconName
  /** Found by the server, or belongs to what was. */
  readonly isFound?: boolean
  readonly act: () => void
}

type JobItem = WireJobsPage['items'][number]

/** The acts of a role on a job, each on the page of the job. */
function actionsOf({ tenant, name, schedule, paused }: JobItem, go: (path: string) => () => void): readonly Entry[] {
  const page = `jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(name)}`
  const entry = (text: string, icon: IconName, path: string, end?: string): Entry => ({
    ...{ group: 'Actions', text, icon, isFound: true, act: go(path) },
    ...(end !== undefined && { end }),
  })
  return [
    ...(may('jobs.trigger') ? [entry(`Trigger ${name}…`, 'play', pagePath(page, { do: 'trigger' }), 't')] : []),
    ...(may('jobs.pause')
      ? [entry(`${paused ? 'Resume' : 'Pause'} ${name}…`, paused ? 'play' : 'pause', pagePath(page, { do: 'pause' }), 'p')]
      : []),
    ...(may('jobs.update') && schedule ? [entry(`Edit schedule of ${name}`, 'edit', pagePath(page, { do: 'edit' }), 'e')] : []),
    entry(`Occurrences of ${name}`, 'occ', pagePath('occurrences', { job: name })),
  ]
}

/** A text with the part that was searched for in bold. */
function Found({ text, part }: { text: string; part: string }): VNode {
  const from = part === '' ? -1 : text.toLowerCase().indexOf(part.toLowerCase())
  if (from < 0) return <>{text}</>
  return (
    <>
      {text.slice(0, from)}
      <b>{text.slice(from, from + part.length)}</b>
      {text.slice(from + part.length)}
    </>
  )
}

const isId = (text: string) => /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text)

/** Jobs, occurrences by key or id, pages and actions from one line. */
export function Palette(): VNode {
  const { route } = useLocation()
  const text = useSignal('')
  const isChosen = useSignal(false)
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
  const isNewest = !jobs.isPlaceholderData && jobs.data !== undefined
  useLayoutEffect(() => {
    dialog.current?.showModal()
    text.value = typedAhead.peek()
  }, [])
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
    ...(typed === '' ? [] : (jobs.data?.items ?? []).slice(0, 1)).flatMap((job) => actionsOf(job, go)),
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
        entry.group === 'Jobs' ||
        entry.group === 'Occurrences' ||
        entry.isFound ||
        entry.text.toLowerCase().includes(typed.toLowerCase()),
    )
    .slice(0, 16)
  // Enter that comes before the jobs of what was typed: it opens the first of them, not what stood there before.
  useEffect(() => {
    if (!isChosen.value || !isNewest) return
    isChosen.value = false
    shown[0]?.act()
  })
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
            isChosen.value = false
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') at.value = Math.min(shown.length - 1, current + 1)
            else if (event.key === 'ArrowUp') at.value = Math.max(0, current - 1)
            else if (event.key === 'Enter' && !isNewest) isChosen.value = true
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
              <span class="ell">
                <Found text={entry.text} part={typed} />
              </span>
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
