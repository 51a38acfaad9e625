import type { VNode } from 'preact'
import { pagePath } from '../data/root.ts'
import { duration } from '../time/duration.ts'
import { At } from './time.tsx'

const special = /(\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b\d{4,} ms\b)/

/** A message of the server: instants in the chosen zone, durations in large units, occurrences as links. */
export function Message({ text, seconds = false }: { text: string; seconds?: boolean }): VNode {
  return (
    <>
      {text.split(special).map((part, at) => {
        if (at % 2 === 0) return part
        if (part.endsWith(' ms')) return duration(Number.parseInt(part, 10))
        return part.includes('T') ? (
          <At key={at} at={part} seconds={seconds} />
        ) : (
          <a key={at} class="link mono" title={part} href={pagePath(`occurrences/${part}`)}>
            {part.slice(0, 8)}
          </a>
        )
      })}
    </>
  )
}

const words: Readonly<Record<string, string>> = {
  downtime: 'no node ran at its time',
  paused: 'the job was paused',
  compressed: 'another run stands for it',
}

/** Why work was canceled, skipped or missed. */
export function reasonText(reason: string): string {
  return words[reason] ?? (reason.startsWith('overlap: ') ? 'another one was under way' : reason)
}
