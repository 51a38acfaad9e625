import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireAuditRow } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { tenant } from '../../data/session.ts'
import { Columns } from '../../part/columns.tsx'
import { PageHead } from '../../part/page-head.tsx'
import { Pager } from '../../part/pager.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { TenantSelect } from '../../part/tenant-select.tsx'
import { At, Two } from '../../part/time.tsx'
import { now } from '../../time/zone.ts'
import { changesOf, type FieldValue } from './changes.ts'

const actions = [
  ...['update', 'reset', 'rollback', 'retire', 'pause', 'resume', 'trigger', 'replay', 'backfill'],
  ...['cancel', 'reschedule', 'retry', 'discard', 'resolve', 'drain', 'delete', 'prune', 'event'],
]
const days: Readonly<Record<string, number>> = { '1d': 1, '7d': 7, '30d': 30 }
const names = ['actor', 'action', 'job', 'target', 'span'] as const
type Filter = Readonly<Partial<Record<(typeof names)[number], string>>>

export function Audit(): VNode {
  const { query, route } = useLocation()
  const filter: Filter = Object.fromEntries(names.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
  const cursor = query.cursor ?? ''
  const { span, ...fields } = filter
  const from =
    span && days[span] ? new Date(Math.floor(now.peek() / 60_000) * 60_000 - days[span] * 86_400_000).toISOString() : ''
  const rows = useQuery({
    key: ['audit', tenant.value, JSON.stringify(filter), cursor],
    read: (signal) => api.audit({ ...fields, from, cursor, tenant: tenant.value, limit: 50 }, signal),
    keepsLast: true,
  })
  const go = (next: Filter) => route(pagePath('audit', { ...filter, ...next }), true)
  return (
    <>
      <PageHead title="Audit">
        Who changed what and why, and the business events that handlers record. Rows are sealed in a chain of hashes;{' '}
        <code>punctual audit verify</code> checks it.
      </PageHead>
      <Filters filter={filter} go={go} />
      <section class="card" aria-label="Audit">
        <Loaded query={rows}>
          {({ items, cursor: next }) => (
            <>
              {items.length === 0 ? (
                <Empty title={Object.keys(filter).length > 0 ? 'Nothing matches.' : 'Nothing is recorded yet.'}>
                  {Object.keys(filter).length > 0
                    ? 'Take a filter away to see more.'
                    : 'Pause a job, retry a dead letter or change a schedule: each act has a row here, with its actor and reason.'}
                </Empty>
              ) : (
                <AuditTable items={items} />
              )}
              <Pager isFirst={!cursor} next={next ? () => route(pagePath('audit', { ...filter, cursor: next })) : null}>
                {items.length} shown, newest first
              </Pager>
            </>
          )}
        </Loaded>
      </section>
    </>
  )
}

function Filters({ filter, go }: { filter: Filter; go: (next: Filter) => void }): VNode {
  return (
    <div class="row wrap filters">
      <select
        class="in short"
        aria-label="Action"
        value={filter.action ?? ''}
        onChange={(event) => go({ action: event.currentTarget.value || undefined } as Filter)}
      >
        <option value="">Action: all</option>
        {actions.map((one) => (
          <option key={one} value={one} selected={one === filter.action}>
            {one}
          </option>
        ))}
      </select>
      {(['actor', 'job', 'target'] as const).map((name) => (
        <input
          key={name}
          class="in short"
          type="search"
          aria-label={name === 'target' ? 'Id or key' : `${name[0]!.toUpperCase()}${name.slice(1)}`}
          placeholder={{ actor: 'Actor', job: 'Job', target: 'Id or key' }[name]}
          value={filter[name] ?? ''}
          onChange={(event) => go({ [name]: event.currentTarget.value.trim() || undefined } as Filter)}
        />
      ))}
      <select
        class="in short"
        aria-label="Time"
        value={filter.span ?? ''}
        onChange={(event) => go({ span: event.currentTarget.value || undefined } as Filter)}
      >
        <option value="">Time: all</option>
        {Object.entries(days).map(([one, count]) => (
          <option key={one} value={one} selected={one === filter.span}>
            {count === 1 ? 'Last day' : `Last ${count} days`}
          </option>
        ))}
      </select>
      <TenantSelect />
    </div>
  )
}

function AuditTable({ items }: { items: readonly WireAuditRow[] }): VNode {
  return (
    <table class="tbl cards audit">
      <Columns names={['When', 'Actor', 'Action', 'On', 'Change and reason']} />
      <tbody>
        {items.map((row) => (
          <tr key={row.seq}>
            <td class="nw">
              <Two at={row.at} seconds />
            </td>
            <td class="strong nw">{row.actor}</td>
            <td class="nw">{row.event ?? row.action}</td>
            <td class="on">
              <Target row={row} />
            </td>
            <td class="reason grow full">
              {changesOf(row).map(({ field, before, after }) => (
                <span class="change" key={field}>
                  <span class="dim">{field}</span>{' '}
                  {before !== null && (
                    <>
                      <s>
                        <Value value={before} />
                      </s>{' '}
                      →{' '}
                    </>
                  )}
                  <b>
                    <Value value={after} />
                  </b>
                </span>
              ))}
              {row.reason && <span class="sec">“{row.reason}”</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function Value({ value }: { value: FieldValue }): VNode {
  if (typeof value === 'number') return <At at={value} seconds />
  if (!occurrenceId.test(value)) return <span class="mono">{value}</span>
  return (
    <a class="mono link" title={value} href={pagePath(`occurrences/${value}`)}>
      {value.slice(0, 8)}
    </a>
  )
}

const occurrenceId = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

function Target({ row: { tenant: owner, job, target } }: { row: WireAuditRow }): VNode {
  const isOccurrence = occurrenceId.test(target)
  const href = isOccurrence
    ? pagePath(`occurrences/${target}`)
    : job && pagePath(`jobs/${encodeURIComponent(owner ?? 'default')}/${encodeURIComponent(job)}`)
  const text = job ?? (target || (owner ? `tenant ${owner}` : 'everything'))
  const more = isOccurrence ? target.slice(0, 8) : target !== text ? target : ''
  return (
    <div class="two">
      {href ? (
        <a class="strong" href={href}>
          {text}
        </a>
      ) : (
        <span>{text}</span>
      )}
      <small>
        {owner && owner !== 'default' && `${owner} `}
        {more && <span class="mono">{more}</span>}
      </small>
    </div>
  )
}
