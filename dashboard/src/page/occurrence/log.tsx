import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { counted } from '../../data/count.ts'
import { Copy } from '../../part/command.tsx'
import { At } from '../../part/time.tsx'

/** Lines of `ctx.log`. While it runs, the view stays at the newest line, unless the reader has scrolled up. */
export function Log({ occurrence: { log, state, tasks } }: { occurrence: WireOccurrence }): VNode | null {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const count = log.reduce((sum, { lines }) => sum + lines.length, 0)
  useEffect(() => {
    if (box.current && state === 'running' && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [count])
  if (count === 0) return null
  const hasSeveral = log.length > 1 || tasks.length > 1
  return (
    <section class="card" aria-label="Log">
      <header>
        <h2>Log</h2>
        <span class="dim">{counted(count, 'line')}</span>
        <div class="end">
          <Copy text={log.flatMap(({ lines }) => lines.map(lineText)).join('\n')} />
        </div>
      </header>
      <div
        class="log lines"
        ref={box}
        tabIndex={0}
        role="log"
        aria-label="Log lines"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 24
        }}
      >
        {log.map(({ task, attempt, turn, dropped, lines }) => (
          <>
            {hasSeveral && (
              <h3>
                {task}, attempt {attempt}
              </h3>
            )}
            {dropped > 0 && <p class="dim">{counted(dropped, 'older line')} did not fit</p>}
            {lines.map((line, at) => (
              <div key={`${turn} ${task} ${attempt} ${dropped + at}`}>
                <span class="dim">
                  <At at={line.at} seconds />
                </span>
                <span class={{ info: 'dim', warn: 'w', error: 'e' }[line.level]}>{line.level}</span>
                <span class="wrap-any">
                  {line.message} {line.fields && <span class="dim">{fieldsText(line.fields)}</span>}
                </span>
              </div>
            ))}
          </>
        ))}
      </div>
    </section>
  )
}

type Line = WireOccurrence['log'][number]['lines'][number]

function lineText({ at, level, message, fields }: Line): string {
  return `${at} ${level} ${message}${fields ? ` ${fieldsText(fields)}` : ''}`
}

function fieldsText(fields: NonNullable<Line['fields']>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
