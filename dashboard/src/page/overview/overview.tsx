import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireOverview } from '../../../../src/http/wire.ts'
import { PauseAllDialog } from '../../action/pause-all.tsx'
import { api } from '../../data/api.ts'
import { counted, countText } from '../../data/count.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { may, tenant } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Figure } from '../../part/figure.tsx'
import { Glyph } from '../../part/glyph.tsx'
import { Loaded } from '../../part/screen.tsx'
import { Ago, At } from '../../part/time.tsx'
import { pageZone } from '../../time/zone.ts'
import { TimelineCard } from '../timeline-card.tsx'
import { Attention } from './attention.tsx'
import { Charts } from './charts.tsx'
import { FirstSteps } from './first-steps.tsx'
import { NowAndNext } from './now-and-next.tsx'
import { sentence } from './sentence.ts'

export function Overview(): VNode {
  const within = tenant.value ? { tenant: tenant.value } : {}
  const overview = useQuery({ key: ['overview', tenant.value], read: (signal) => api.overview(within, signal), keepsLast: true })
  return (
    <Loaded query={overview}>
      {(data) =>
        data.jobs.total === 0 && !hasHistory(data) ? (
          <FirstSteps overview={data} />
        ) : (
          <>
            <Say overview={data} />
            <FiveNumbers overview={data} />
            <TimelineCard spans={['15m', '1h', '6h', '24h', '7d', '30d']} fallback="24h" />
            <div class="cols cols-main even">
              <Attention items={data.attention} />
              <NowAndNext overview={data} />
            </div>
            <Charts overview={data} />
          </>
        )
      }
    </Loaded>
  )
}

function hasHistory({ counts }: WireOverview): boolean {
  return Object.values(counts).some((count) => count > 0)
}

function Say({ overview }: { overview: WireOverview }): VNode {
  const { mark, parts } = sentence(overview, pageZone.value)
  const isAsking = useSignal(false)
  return (
    <div class="say">
      <Glyph mark={mark} />
      <h1>{parts.map(({ text, isStrong }, at) => (isStrong ? <b key={at}>{text}</b> : text))}</h1>
      {may('pauses.open') && (
        <div class="end">
          <Button
            icon={overview.paused ? 'play' : 'pause'}
            onClick={() => {
              isAsking.value = true
            }}
          >
            {overview.paused ? 'Resume all…' : 'Pause all…'}
          </Button>
        </div>
      )}
      {isAsking.value && (
        <PauseAllDialog
          isPaused={overview.paused}
          onClose={() => {
            isAsking.value = false
          }}
        />
      )}
    </div>
  )
}

function FiveNumbers({ overview }: { overview: WireOverview }): VNode {
  const { late, failed, running, waiting, next } = overview
  const [first] = next
  const reasons = Object.entries(waiting.by).sort(([, a], [, b]) => b - a)
  return (
    <section class="card five" aria-label="Five numbers">
      <Figure
        mark="late"
        label="Late"
        href={pagePath('jobs', { mark: 'late' })}
        kind={late.jobs > 0 ? 'time' : ''}
        value={countText(late.jobs)}
      >
        {late.oldest ? (
          <>
            oldest due <Ago at={late.oldest.dueAt} />
          </>
        ) : (
          'everything due has started'
        )}
      </Figure>
      <Figure
        mark="failed"
        label="Failed, last hour"
        href={pagePath(failed.dead > 0 ? 'dead-letters' : 'occurrences', failed.dead > 0 ? {} : { state: 'failed' })}
        kind={failed.lastHour > 0 ? 'fault' : ''}
        value={countText(failed.lastHour)}
      >
        {failed.dead > 0 ? `${counted(failed.dead, 'dead letter')}, ${counted(failed.causes, 'cause')}` : 'no dead letters'}
      </Figure>
      <Figure
        mark="running"
        label="Running"
        href={pagePath('occurrences', { state: 'running' })}
        kind={running.count > 0 ? '' : 'zero'}
        value={countText(running.count)}
        small={`of ${running.slots} slots`}
      >
        {counted(running.nodes, 'node')},{' '}
        {running.beating === running.nodes ? (running.nodes === 1 ? 'alive' : 'all alive') : `${running.beating} alive`}
      </Figure>
      <Figure
        mark="waiting"
        label="Waiting"
        href={pagePath('occurrences', { state: 'waiting' })}
        kind={waiting.count > 0 ? '' : 'zero'}
        value={countText(waiting.count)}
      >
        {reasons.length > 0 ? reasons.map(([reason, count]) => `${count} by ${reason}`).join(', ') : 'nothing is held back'}
      </Figure>
      <Figure
        mark="pending"
        label="Next"
        href={pagePath('occurrences', { state: 'pending' })}
        kind={first ? '' : 'zero'}
        value={first ? <At at={first.at} /> : 'none'}
        {...(first && { small: <Ago at={first.at} isAhead />, isDropped: true })}
      >
        {first ? first.job : 'no instant ahead'}
      </Figure>
    </section>
  )
}
