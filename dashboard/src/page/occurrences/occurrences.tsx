import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { WireOccurrenceLine } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { countText } from '../../data/count.ts'
import { dueOf, occurrenceMark } from '../../data/marks.ts'
import { useQuery } from '../../data/query.ts'
import { address } from '../../data/request.ts'
import { pagePath } from '../../data/root.ts'
import { tenant } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Glyph, State } from '../../part/glyph.tsx'
import { useCursor } from '../../part/list-keys.ts'
import { markWord } from '../../part/mark.ts'
import { reasonText } from '../../part/message.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { Two } from '../../part/time.tsx'
import { duration } from '../../time/duration.ts'
import { now, pageZone, zoneMode } from '../../time/zone.ts'
import { BulkBar } from './bulk-bar.tsx'
import { useCalmList } from './calm-list.ts'
import { type Filter, filterOf, requestOf, type StateName, states } from './filter.ts'
import { FilterBar } from './filter-bar.tsx'
import { SavedViews, SaveView } from './saved-views.tsx'

const pageSize = 50

export function Occurrences(): VNode {
  const { query, route } = useLocation()
  const filter = filterOf(query)
  const state = states.find((one) => one === query.state) ?? null
  const cursor = query.cursor ?? ''
  const scoped = { ...(tenant.value && { tenant: tenant.value }), ...filter }
  const request = requestOf(scoped, state, now.peek())
  const { state: _, ...anyState } = request
  const wire = { ...request, state: state ?? undefined, source: request.source?.join(',') }
  const key = JSON.stringify([scoped, state])
  const list = useQuery({
    key: ['occurrences', key, cursor],
    read: (signal) => api.occurrences({ ...wire, cursor, limit: pageSize }, signal),
    keepsLast: true,
  })
  const counts = useQuery({
    key: ['occurrences', 'counts', JSON.stringify(scoped)],
    read: (signal) => api.occurrenceCounts({ ...anyState, source: anyState.source?.join(',') }, signal),
    keepsLast: true,
  })
  const selected = useSignal<ReadonlySet<string>>(new Set())
  const isUnderPointer = useSignal(false)
  const isAll = useSignal(false)
  useEffect(() => {
    selected.value = new Set()
    isAll.value = false
  }, [key, cursor])
  const go = (next: { filter?: Filter; state?: StateName | null; cursor?: string }) => {
    const to = {
      ...(next.filter ?? filter),
      state: (next.state === undefined ? state : next.state) ?? undefined,
      cursor: next.cursor,
    }
    route(pagePath('occurrences', to))
  }
  const matching = state ? counts.data?.states[state] : counts.data?.total
  return (
    <>
      <FilterBar
        filter={filter}
        onChange={(next) => go({ filter: next })}
        exportHref={address('occurrences/export', { ...wire, format: 'csv' })}
      >
        <SaveView query={{ ...filter, state: state ?? undefined }} />
      </FilterBar>
      <SavedViews query={{ ...filter, state: state ?? undefined }} />
      <section
        class="card"
        aria-label="Occurrences"
        onPointerEnter={({ pointerType }) => {
          isUnderPointer.value = pointerType === 'mouse'
        }}
        onPointerLeave={() => {
          isUnderPointer.value = false
        }}
      >
        <nav class="tabs" aria-label="States">
          <a href={pagePath('occurrences', { ...filter })} {...(!state && { 'aria-current': 'true' as const })}>
            All <span class="n">{counts.data && countText(counts.data.total.count, counts.data.total.capped)}</span>
          </a>
          {states.map((one) => (
            <a
              key={one}
              href={pagePath('occurrences', { ...filter, state: one })}
              {...(state === one && { 'aria-current': 'true' as const })}
            >
              <Glyph mark={one} />
              {markWord(one)}{' '}
              <span class="n">
                {counts.data && countText(counts.data.states[one]?.count ?? 0, counts.data.states[one]?.capped)}
              </span>
            </a>
          ))}
        </nav>
        <Loaded query={list}>
          {({ items: newest, cursor: next }) => (
            <Calm
              pageKey={list.isPlaceholderData ? '' : `${key} ${cursor}`}
              newest={newest}
              isStill={isUnderPointer.value || selected.value.size > 0}
            >
              {(items) => (
                <>
                  {items.length === 0 ? (
                    <Empty title={state || Object.keys(filter).length > 0 ? 'Nothing matches.' : 'Nothing has run yet.'}>
                      {state || Object.keys(filter).length > 0
                        ? 'Take a filter away, or choose another state.'
                        : 'Each intended run of a job is one occurrence. It stands here from its creation on.'}
                    </Empty>
                  ) : (
                    <Table
                      items={items}
                      selected={isAll.value ? new Set(items.map(({ id }) => id)) : selected.value}
                      onSelect={(ids) => {
                        selected.value = ids
                        isAll.value = false
                      }}
                    />
                  )}
                  <div class="pager">
                    <span class="dim">
                      {items.length} {matching && `of ${countText(matching.count, matching.capped)}`}, last created first
                    </span>
                    <span class="row">
                      <Button isDisabled={!cursor} onClick={() => history.back()}>
                        Newer
                      </Button>
                      <Button isDisabled={!next} onClick={() => next && go({ cursor: next })}>
                        Older
                      </Button>
                    </span>
                  </div>
                </>
              )}
            </Calm>
          )}
        </Loaded>
      </section>
      {(selected.value.size > 0 || isAll.value) && (
        <BulkBar
          lines={(list.data?.items ?? []).filter(({ id }) => selected.value.has(id))}
          isAll={isAll.value}
          matching={matching ?? { count: 0, capped: false }}
          filter={request}
          onAll={() => {
            isAll.value = true
          }}
          onClear={() => {
            selected.value = new Set()
            isAll.value = false
          }}
        />
      )}
    </>
  )
}

/** Lines do not move under the pointer, nor while some are selected: what is new waits behind a button. */
function Calm({
  pageKey,
  newest,
  isStill,
  children,
}: {
  pageKey: string
  newest: readonly WireOccurrenceLine[]
  isStill: boolean
  children: (items: readonly WireOccurrenceLine[]) => VNode
}): VNode {
  const { items, fresh, showFresh } = useCalmList(pageKey, newest, isStill)
  return (
    <>
      {fresh > 0 && (
        <button type="button" class="fresh" onClick={showFresh}>
          {fresh} new
        </button>
      )}
      {children(items)}
    </>
  )
}

function Table({
  items,
  selected,
  onSelect,
}: {
  items: readonly WireOccurrenceLine[]
  selected: ReadonlySet<string>
  onSelect: (ids: ReadonlySet<string>) => void
}): VNode {
  const { route } = useLocation()
  const last = useSignal(-1)
  const toggle = (index: number, isRange = false) => {
    const next = new Set(selected)
    const line = items[index]
    if (!line) return
    if (isRange && last.value >= 0)
      for (let at = Math.min(index, last.value); at <= Math.max(index, last.value); at++) next.add(items[at]!.id)
    else if (!next.delete(line.id)) next.add(line.id)
    last.value = index
    onSelect(next)
  }
  const at = useCursor(items.length, (index) => items[index] && route(pagePath(`occurrences/${items[index].id}`)), { x: toggle })
  const isAllOn = items.every(({ id }) => selected.has(id))
  return (
    <table class="tbl cards occs">
      <thead>
        <tr>
          <th class="pick">
            <input
              type="checkbox"
              class="check"
              aria-label="Select all on this page"
              checked={isAllOn}
              onChange={() => onSelect(isAllOn ? new Set() : new Set(items.map(({ id }) => id)))}
            />
          </th>
          <th>State</th>
          <th>Job and key</th>
          <th>Due, {zoneMode.value === 'job' ? 'job’s zone' : pageZone.value}</th>
          <th class="num">Took</th>
          <th>Reason</th>
        </tr>
      </thead>
      <tbody>
        {items.map((line, index) => (
          <tr key={line.id} class={`${selected.has(line.id) ? 'sel' : ''} ${index === at ? 'cur' : ''}`}>
            <td class="pick hide">
              <input
                type="checkbox"
                class="check"
                aria-label={`Select ${line.job} ${line.key ?? line.id}`}
                checked={selected.has(line.id)}
                onClick={(event) => {
                  event.preventDefault()
                  toggle(index, event.shiftKey)
                }}
              />
            </td>
            <td class="nw">
              <State mark={occurrenceMark(line)} />
            </td>
            <td>
              <div class="two">
                <a class="strong" href={pagePath(`occurrences/${line.id}`)}>
                  {line.job}
                </a>
                <small>
                  {line.tenant !== 'default' && `${line.tenant} · `}
                  {(line.key ?? line.idempotencyKey) ? <span class="mono">{line.key ?? line.idempotencyKey}</span> : line.source}
                </small>
              </div>
            </td>
            <td class="nw">
              <Two at={dueOf(line)} seconds />
            </td>
            <td class="num nw">{line.tookMs === null ? (line.turn > 1 ? `${line.turn} turns` : '—') : duration(line.tookMs)}</td>
            <td class="reason">
              {line.error ? (
                <span class="mono">{line.error.message}</span>
              ) : (
                line.reason && <span class="dim">{reasonText(line.reason)}</span>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
