import type { VNode } from 'preact'
import type { WireOverview } from '../../../../src/http/wire.ts'
import { counted } from '../../data/count.ts'
import { server } from '../../data/session.ts'
import { Command } from '../../part/command.tsx'
import { Glyph } from '../../part/glyph.tsx'

const example = `import { cron, defineJob } from 'punctual'

export const hello = defineJob('hello', {
  schedule: cron('* * * * *'),
}).task('run', (ctx) => ctx.log.info('on time'))`

/** An empty store: what this page will show, what is there already, and three steps. */
export function FirstSteps({ overview }: { overview: WireOverview }): VNode {
  const facts = server.value
  const { beating, slots } = overview.running
  return (
    <section class="card empty">
      <div class="stack gap-3.5">
        <svg width="220" height="56" viewBox="0 0 220 56" aria-hidden="true">
          <path class="rule" d="M0 28.5H220" />
          <rect class="m-completed" x="14" y="20" width="26" height="16" rx="2" />
          <rect class="m-completed" x="58" y="20" width="14" height="16" rx="2" />
          <rect class="m-completed" x="90" y="20" width="22" height="16" rx="2" />
          <path class="now" d="M130 4V52" />
          <rect class="m-pending" x="146" y="20" width="12" height="16" rx="2" />
          <rect class="m-pending" x="176" y="20" width="12" height="16" rx="2" />
          <rect class="m-pending" x="206" y="20" width="12" height="16" rx="2" />
        </svg>
        <h1>Nothing is scheduled yet.</h1>
        <p class="sec">This page will show what ran, what failed, what is late and what comes next.</p>
        <ul class="why">
          {facts && (
            <li>
              <Glyph mark="completed" />
              <span>
                Store <b class="strong">{facts.store.name}</b> answers in {Math.max(1, Math.round(facts.store.latencyMs))} ms
              </span>
            </li>
          )}
          <li>
            <Glyph mark={beating > 0 ? 'completed' : 'pending'} />
            <span>{beating > 0 ? `${counted(beating, 'node')}, ${counted(slots, 'slot')}` : 'No node runs'}</span>
          </li>
          <li>
            <Glyph mark="pending" />
            <span>No job is declared</span>
          </li>
        </ul>
      </div>
      <ol class="steps">
        <li>
          <span class="strong">Define a job</span>
          <pre class="code" tabIndex={0}>
            {example}
          </pre>
        </li>
        <li>
          <span class="strong">Run it</span>
          <Command words={['npx', 'punctual', 'serve', '--store', 'sqlite:./punctual.db', '--jobs', './jobs.ts']} />
        </li>
        <li>
          <span class="strong">See it here within a minute</span>
          <p class="dim step-hint">This page updates by itself.</p>
        </li>
      </ol>
    </section>
  )
}
