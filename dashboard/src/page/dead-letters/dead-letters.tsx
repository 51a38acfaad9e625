import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireDeadCause } from '../../../../src/http/wire.ts'
import { BulkDialog } from '../../action/bulk-dialog.tsx'
import { EditDialog } from '../../action/occurrence-actions.tsx'
import { api } from '../../data/api.ts'
import { causeText } from '../../data/cause.ts'
import { counted, countText } from '../../data/count.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { may, tenant } from '../../data/session.ts'
import { Spark } from '../../drawing/spark.tsx'
import { useAsked } from '../../part/asked.ts'
import { Button } from '../../part/button.tsx'
import { ErrorSample } from '../../part/error-view.tsx'
import { Glyph } from '../../part/glyph.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { TenantSelect } from '../../part/tenant-select.tsx'
import { Ago, At } from '../../part/time.tsx'
import { roughly } from '../../time/duration.ts'
import { HitBars } from './hit-bars.tsx'

export function DeadLetters(): VNode {
  const { query, route } = useLocation()
  const dead = useQuery({
    key: ['dead', tenant.value],
    read: (signal) => api.dead({ tenant: tenant.value, limit: 100 }, signal),
    keepsLast: true,
  })
  const open = query.cause
  return (
    <Loaded query={dead}>
      {({ total, items }) => (
        <>
          <div class="head">
            <div>
              <h1>
                {counted(total, 'dead letter')}{' '}
                {items.length > 0 && <span class="dim font-normal">{counted(items.length, 'cause')}</span>}
              </h1>
              <p class="sub">Work that failed for good and waits for you. It is kept until you retry or discard it.</p>
            </div>
            <div class="end only-desk">
              <TenantSelect />
            </div>
          </div>
          {items.length === 0 && (
            <section class="card">
              <Empty title="No dead letters.">
                Enqueued work that has no retries left comes here, grouped by its error. Scheduled work that fails ends as failed
                instead.
              </Empty>
            </section>
          )}
          {items.map((group, at) => {
            const isOpen = open === undefined ? at === 0 : open === group.cause
            return (
              <Cause
                key={group.cause}
                group={group}
                isOpen={isOpen}
                isFirst={at === 0}
                onToggle={() => route(pagePath('dead-letters', { cause: isOpen ? 'none' : group.cause }), true)}
              />
            )
          })}
          {items.length > 0 && (
            <p class="dim">
              A cause is the error’s name, code and message without ids and numbers, with job and task. Retries run as a tracked
              operation that you can abort.
            </p>
          )}
        </>
      )}
    </Loaded>
  )
}

function Cause({
  group,
  isOpen,
  isFirst,
  onToggle,
}: {
  group: WireDeadCause
  isOpen: boolean
  isFirst: boolean
  onToggle: () => void
}): VNode {
  const asked = useSignal<'retry' | 'discard' | null>(null)
  const { cause, label, job, task, count, seen, tenants, firstAt, lastAt, spark, sample } = group
  const isUnknown = sample?.error?.code === 'gate.held'
  const isByTenant = tenants.some((one) => one.tenant !== 'default')
  const many = count > 1 ? ` ${countText(count)}` : ''
  return (
    <section class="card" aria-label={label}>
      <div class="cause">
        <Glyph mark="dead" />
        <span class="c">{countText(count)}</span>
        <div class="what2">
          <button type="button" class="plain what mono" title={label} aria-expanded={isOpen} onClick={onToggle}>
            {causeText({ label, code: sample?.error?.code ?? null })}
          </button>
          <p class="dim">
            {job}
            {task && `, task ${task}`}
            {!isOpen &&
              isByTenant &&
              ` · ${tenants
                .slice(0, 3)
                .map((one) => `${one.tenant} ${countText(one.count, seen < count)}`)
                .join(', ')}`}{' '}
            ·{' '}
            {count > 1 && (
              <>
                first <At at={firstAt} />, last{' '}
              </>
            )}
            <At at={lastAt} /> (<Ago at={lastAt} />)
          </p>
        </div>
        <div class="spark">
          <Spark counts={spark.counts} label={`${counted(count, 'dead letter')} over time`} />
          <small>
            per {roughly(spark.stepMs)}, {roughly(spark.stepMs * spark.counts.length)}
          </small>
        </div>
        <div class="row do">
          {isUnknown && (
            <a class="btn" href={pagePath('gate')}>
              Resolve
            </a>
          )}
          {may('operations.start') && (
            <>
              {!isUnknown && (
                <Button
                  kind={isFirst ? 'primary' : ''}
                  icon="retry"
                  onClick={() => {
                    asked.value = 'retry'
                  }}
                >
                  Retry{many}…
                </Button>
              )}
              <Button
                icon="trash"
                onClick={() => {
                  asked.value = 'discard'
                }}
              >
                Discard…
              </Button>
            </>
          )}
          <a class="btn" href={pagePath('occurrences', { state: 'dead', cause, job })}>
            Look
          </a>
        </div>
      </div>
      {isOpen && <CauseDetails group={group} />}
      {asked.value && (
        <BulkDialog
          kind={asked.value}
          noun="dead letters"
          filter={{ state: ['dead'], cause, job }}
          intro={
            <>
              <span class="mono">{label}</span> in {job}.{' '}
              {asked.value === 'retry'
                ? 'Finished tasks do not run again; the failed one gets fresh retries.'
                : 'They end as canceled. Their records stay until the retention removes them.'}
            </>
          }
          onClose={() => {
            asked.value = null
          }}
        />
      )}
    </section>
  )
}

function CauseDetails({ group }: { group: WireDeadCause }): VNode {
  const { tenants, entities, nodes, versions, lastSuccessAt, task, sample, cause, job, count, seen } = group
  const isByTenant = entities.length === 0 || tenants.some((one) => one.tenant !== 'default')
  const edited = useAsked<string>()
  return (
    <div class="cells open">
      <div>
        <p class="dim cell-head">
          Who is hit
          {seen < count && `, of the newest ${seen}`}
        </p>
        {isByTenant && <HitBars label="Tenants" hits={tenants.map((one) => ({ name: one.tenant, ...one }))} />}
        <HitBars
          label="Entities, such as customers"
          hits={entities.map((one) => ({ name: one.entity, ...one }))}
          hrefOf={(entity) => pagePath('occurrences', { state: 'dead', cause, job, entity })}
        />
        <a class="link hint" href={pagePath('occurrences', { state: 'dead', cause, job })}>
          {count === 1 ? 'Open it' : `All ${countText(count)}`}
        </a>
      </div>
      <div>
        <p class="dim cell-head">What they share</p>
        <dl class="kv close">
          {task && (
            <>
              <dt>Task</dt>
              <dd>{task}</dd>
            </>
          )}
          <dt>Nodes</dt>
          <dd>{nodes.join('; ') || 'none'}</dd>
          {versions.length > 0 && (
            <>
              <dt>Version</dt>
              <dd>{versions.join(', ')}</dd>
            </>
          )}
          <dt>Last success</dt>
          <dd>
            {lastSuccessAt ? (
              <>
                <At at={lastSuccessAt} seconds />, <Ago at={lastSuccessAt} />
              </>
            ) : (
              'none on record'
            )}
          </dd>
        </dl>
      </div>
      <div>
        <p class="dim cell-head">
          Sample:{' '}
          {sample && (
            <a class="link" href={pagePath(`occurrences/${sample.id}`)}>
              {sample.key ?? sample.idempotencyKey ?? sample.entity ?? sample.id.slice(0, 8)}
            </a>
          )}
        </p>
        {sample?.error && <ErrorSample error={sample.error} />}
        {sample && may('occurrences.retry') && (
          <Button isSmall icon="edit" onClick={edited.ask(sample.id)}>
            Edit and retry…
          </Button>
        )}
        {edited.value && <EditDialog id={edited.value} onClose={edited.close} />}
      </div>
    </div>
  )
}
