import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { dueOf, occurrenceMark } from '../../data/marks.ts'
import { pagePath } from '../../data/root.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Badge } from '../../part/glyph.tsx'
import { Menu } from '../../part/menu.tsx'
import { Progress } from '../../part/progress.tsx'
import { Ago, At } from '../../part/time.tsx'
import { leftText } from '../../time/left.ts'
import { pageZone } from '../../time/zone.ts'

export type Asked = 'retry' | 'discard' | 'cancel' | 'replay' | 'reschedule'

export function isLive(state: string): boolean {
  return state === 'pending' || state === 'waiting' || state === 'running' || state === 'retrying'
}

export function Head({ occurrence, ask }: { occurrence: WireOccurrence; ask: (what: Asked) => () => void }): VNode {
  const { job, tenant, state, startedAt, endedAt, progress } = occurrence
  const dueAt = dueOf(occurrence)
  const key = occurrence.key ?? occurrence.idempotencyKey
  const isOver = !isLive(state)
  return (
    <div class="head">
      <div class="min-w-0">
        <h1>
          <a class="ell" href={pagePath(`jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(job)}`)}>
            {job}
          </a>{' '}
          {key && (
            <span class="dim font-normal key ell" title={key}>
              {key}
            </span>
          )}{' '}
          <Badge mark={occurrenceMark(occurrence)} />
        </h1>
        <p class="sub">
          {tenant} · due <At at={dueAt} seconds /> {pageZone.value}, <Ago at={dueAt} />
          {endedAt && (
            <>
              {' '}
              · {state} {state === 'dead' ? 'since' : 'at'} <At at={endedAt} seconds />
            </>
          )}
        </p>
        {progress && !isOver && (
          <div class="head-progress">
            <Progress value={progress.done} />
            <span class="hint">
              {Math.round(progress.done * 100)} % of {progress.task}
              {progress.message && `: ${progress.message}`}
              {startedAt && progress.done > 0.02 && `, about ${leftText(startedAt, progress.done)} left`}
            </span>
          </div>
        )}
      </div>
      <div class="end">
        {state === 'dead' && may('occurrences.retry') && (
          <Button kind="primary" icon="retry" onClick={ask('retry')}>
            Retry…
          </Button>
        )}
        {isOver && state !== 'dead' && may('occurrences.replay') && (
          <Button icon="retry" onClick={ask('replay')}>
            Replay…
          </Button>
        )}
        {state === 'dead' && may('occurrences.discard') && (
          <Button kind="danger" icon="trash" onClick={ask('discard')}>
            Discard…
          </Button>
        )}
        {(state === 'pending' || state === 'waiting') && may('occurrences.reschedule') && (
          <Button icon="clock" onClick={ask('reschedule')}>
            Move…
          </Button>
        )}
        {!isOver && may('occurrences.cancel') && (
          <Button kind="danger" icon="x" onClick={ask('cancel')}>
            {state === 'running' ? 'Stop…' : 'Cancel…'}
          </Button>
        )}
        <Menu
          items={[
            ['The job', pagePath(`jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(job)}`)],
            ['Occurrences of the job', pagePath('occurrences', { job, tenant })],
            ...(state === 'dead' && may('occurrences.replay') ? ([['Replay as a new one…', ask('replay')]] as const) : []),
          ]}
        />
      </div>
    </div>
  )
}
