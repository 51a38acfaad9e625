import type { VNode } from 'preact'
import type { WireRecentRun } from '../../../src/http/wire.ts'
import { pagePath } from '../data/root.ts'
import { Glyph } from './glyph.tsx'
import { markWord } from './mark.ts'

const shown = 20

/** The last results, the newest right. Trouble is larger than success. */
export function Dots({ runs }: { runs: readonly WireRecentRun[] }): VNode {
  const last = runs.slice(-shown)
  const bad = last.filter(({ state }) => state !== 'completed').length
  return (
    <span
      class="dots"
      role="group"
      aria-label={`Last ${last.length} results, newest right: ${last.length - bad} completed, ${bad} other`}
    >
      {Array.from({ length: shown - last.length }, (_, at) => (
        <i key={`none${at}`}>
          <span class="none" />
        </i>
      ))}
      {last.map(({ id, state, error }) => (
        <a
          key={id}
          href={pagePath(`occurrences/${id}`)}
          title={`${markWord(state)}${error ? `: ${error}` : ''}`}
          aria-label={markWord(state)}
          tabIndex={state === 'completed' ? -1 : 0}
        >
          {state === 'completed' ? <span class="d" /> : <Glyph mark={state} />}
        </a>
      ))}
    </span>
  )
}
