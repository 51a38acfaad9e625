import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireAttention } from '../../../../src/http/wire.ts'
import { BulkDialog } from '../../action/bulk-dialog.tsx'
import { BackfillDialog, RetireDialog } from '../../action/job-actions.tsx'
import { causeText } from '../../data/cause.ts'
import { countText } from '../../data/count.ts'
import { pagePath } from '../../data/root.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Glyph } from '../../part/glyph.tsx'
import type { Mark } from '../../part/mark.ts'
import { Message } from '../../part/message.tsx'
import { Ago, At } from '../../part/time.tsx'
import { lateness } from '../../time/duration.ts'
import { now } from '../../time/zone.ts'
import { LastDay } from './last-day.tsx'

const shapes: Readonly<Record<WireAttention['kind'], Mark>> = {
  dead: 'dead',
  late: 'late',
  missed: 'missed',
  failing: 'failed',
  orphaned: 'orphaned',
  unserved: 'late',
  'stuck-node': 'late',
}
const shown = 6
/** With fewer items there is room for what happened lately. */
const roomFor = 4

/** Problems that need a person, grouped by cause, each with its actions. */
export function Attention({ items }: { items: readonly WireAttention[] }): VNode {
  const isOpen = useSignal(false)
  const visible = isOpen.value ? items : items.slice(0, shown)
  return (
    <section class="card" aria-label="Needs attention">
      <header>
        <h2>Needs attention</h2>
        <span class="dim">{items.length > 0 ? `${items.length}, grouped by cause` : 'nothing'}</span>
      </header>
      {items.length === 0 ? (
        <p class="calm">
          <Glyph mark="completed" />
          <span>
            <b>Nothing needs you.</b> Late, failed and missed work is listed here, grouped by its cause.
          </span>
        </p>
      ) : (
        <ul class="att">
          {visible.map((item) => (
            <Item key={`${item.kind}${item.tenant}${item.job}${item.cause}${item.label}`} item={item} />
          ))}
          {items.length > shown && (
            <li class="rest">
              <span />
              <p class="how">
                <b>{isOpen.value ? 'All are shown' : `${items.length - shown} more`}</b>
              </p>
              <div class="do">
                <Button
                  kind="ghost"
                  isSmall
                  onClick={() => {
                    isOpen.value = !isOpen.value
                  }}
                >
                  {isOpen.value ? 'Show fewer' : 'Show all'}
                </Button>
              </div>
            </li>
          )}
        </ul>
      )}
      {items.length < roomFor && <LastDay />}
    </section>
  )
}

function Item({ item }: { item: WireAttention }): VNode {
  return (
    <li>
      <Glyph mark={shapes[item.kind]} />
      <div>
        <p class="what" title={item.label}>
          <What item={item} />
        </p>
        <p class="how">
          <How item={item} />
        </p>
      </div>
      <div class="do">
        <Actions item={item} />
      </div>
    </li>
  )
}

function What({ item }: { item: WireAttention }): VNode {
  const { kind, job, count, label, code, firstAt } = item
  switch (kind) {
    case 'dead':
      return (
        <>
          {count > 1 && <span class="cnt">{countText(count)}× </span>}
          <span class="mono">{causeText({ label, code })}</span>
        </>
      )
    case 'late':
    case 'unserved':
      return (
        <>
          {job} is {firstAt && lateness(now.value - Date.parse(firstAt))} late
        </>
      )
    case 'missed':
      return (
        <>
          {job} missed {count > 1 ? `${countText(count)} instants` : firstAt ? <At at={firstAt} /> : 'an instant'}
        </>
      )
    case 'failing':
      return (
        <>
          {count > 1 && <span class="cnt">{countText(count)}× </span>}
          <span class="mono">{label}</span>
        </>
      )
    case 'orphaned':
      return <>{job} is orphaned</>
    default:
      return <>{label}</>
  }
}

function How({ item }: { item: WireAttention }): VNode {
  const { kind, job, task, tenants, capped, firstAt, lastAt, why, count } = item
  const parts: (VNode | string)[] = []
  if (kind === 'dead' || kind === 'failing') {
    parts.push(
      <>
        <b>{job}</b>
        {task && `, task ${task}`}
      </>,
    )
    if (tenants.length > 4) parts.push(`${tenants.length}${capped ? ' or more' : ''} tenants`)
    else if (tenants.some((one) => one.tenant !== 'default'))
      parts.push(tenants.map((one) => `${one.tenant} ${countText(one.count, capped)}`).join(', '))
    if (firstAt && lastAt && count > 1)
      parts.push(
        <>
          first <At at={firstAt} />, last <At at={lastAt} />, <Ago at={lastAt} />
        </>,
      )
    else if (lastAt)
      parts.push(
        <>
          <At at={lastAt} />, <Ago at={lastAt} />
        </>,
      )
  }
  if ((kind === 'late' || kind === 'unserved') && firstAt)
    parts.push(
      <>
        due <At at={firstAt} />
      </>,
    )
  if (kind === 'missed' && lastAt && count > 1)
    parts.push(
      <>
        last <At at={lastAt} />
      </>,
    )
  if (why) parts.push(<Message text={why} />)
  return <>{parts.map((part, at) => (at === 0 ? part : <span key={at}> · {part}</span>))}</>
}

function Actions({ item }: { item: WireAttention }): VNode {
  const asked = useSignal<'retry' | 'backfill' | 'retire' | null>(null)
  const close = () => {
    asked.value = null
  }
  const { kind, job, tenant, cause, count, sample, label, code } = item
  const ref = { tenant: tenant ?? 'default', name: job ?? '', schedule: null, version: 0 }
  return (
    <>
      {code === 'gate.held' && (
        <a class="btn sm" href={pagePath('gate')}>
          Resolve
        </a>
      )}
      {kind === 'dead' && code !== 'gate.held' && may('operations.start') && (
        <Button
          isSmall
          icon="retry"
          onClick={() => {
            asked.value = 'retry'
          }}
        >
          {count > 1 ? `Retry ${countText(count)}…` : 'Retry…'}
        </Button>
      )}
      {kind === 'dead' && (
        <a class="btn sm" href={pagePath('dead-letters', { cause: cause ?? undefined })}>
          Look
        </a>
      )}
      {kind !== 'dead' && sample && (
        <a class="btn sm" href={pagePath(`occurrences/${sample}`)}>
          {kind === 'failing' ? 'Look' : 'Why'}
        </a>
      )}
      {(kind === 'late' || kind === 'unserved' || kind === 'stuck-node') && (
        <a class="btn sm" href={pagePath('nodes')}>
          Nodes
        </a>
      )}
      {kind === 'missed' && may('operations.start') && (
        <Button
          isSmall
          icon="fill"
          onClick={() => {
            asked.value = 'backfill'
          }}
        >
          Backfill…
        </Button>
      )}
      {kind === 'orphaned' && may('jobs.retire') && (
        <Button
          isSmall
          onClick={() => {
            asked.value = 'retire'
          }}
        >
          Retire…
        </Button>
      )}
      {asked.value === 'retry' && (
        <BulkDialog
          kind="retry"
          noun="dead letters"
          filter={{ state: ['dead'], ...(cause && { cause }), ...(job && { job }) }}
          intro={
            <>
              <span class="mono">{label}</span> in {job}. Finished tasks do not run again; the failed one gets fresh retries.
            </>
          }
          onClose={close}
        />
      )}
      {asked.value === 'backfill' && <BackfillDialog job={ref} onClose={close} />}
      {asked.value === 'retire' && <RetireDialog job={ref} onClose={close} />}
    </>
  )
}
