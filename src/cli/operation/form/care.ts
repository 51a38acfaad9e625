import type { OperationName, WireLane, WireOutput, WireOverview, WireTimeline } from '../../../http/wire.ts'
import { cut } from '../../../model/cut.ts'
import { counted, facts } from '../../print.ts'
import type { Form } from '../form.ts'
import { type Column, itemTable, plainPage } from '../show.ts'

type Forms = { readonly [Name in OperationName]?: Form<Name> }

export const careForms = {
  'timeline.get': { example: '--from 2026-11-15 --to 2026-11-16', show: timelineText },
  'figures.get': { example: '--from 2026-11-15 --to 2026-11-16' },
  'calendar.get': { example: '--from 2026-11-15 --to 2026-11-22 --timezone Europe/Warsaw' },
  'calendar.cell': { example: '--from 2026-11-15T06:00:00Z --to 2026-11-15T07:00:00Z' },
  'overview.get': { show: overviewText },
  'server.get': {
    show: ({ health, store, ...rest }) =>
      plainPage({
        ...rest,
        health: healthText(health),
        store: `${store.name}, ${store.latencyMs} ms`,
      }),
  },
  'session.get': { show: ({ may, ...rest }) => plainPage({ ...rest, may: `${may.length} operations` }) },
  'gates.list': {
    command: 'gate list',
    example: '--state unknown',
    columns: [
      ['TENANT', 'tenant'],
      ['SCOPE', 'scope'],
      ['KEY', 'key'],
      ['STATE', 'state'],
      ['RESERVED', 'reservedAt'],
      ['TRIES', 'tries'],
      ['HITS', 'hits'],
      ['REASON', ({ reason }) => cut(reason ?? '', 80, '…')],
    ],
    none: 'There are no such keys.',
  },
  'gates.resolve': {
    command: 'gate resolve',
    arguments: ['scope', 'key'],
    example: 'charge order-42 --happened --result \'{"charge": "ch_1"}\'',
    show: (_, { scope, key, happened }) => `resolved ${key} of ${scope} as ${happened ? 'happened' : 'not happened'}`,
    refuse: ({ happened }) => (happened === undefined ? 'say --happened or --no-happened' : null),
  },
  'audit.list': {
    command: 'audit list',
    example: '--actor ada --from 2026-11-01',
    columns: [
      ['AT', 'at'],
      ['ACTOR', 'actor'],
      ['ACTION', ({ event, action }) => event ?? action],
      ['TARGET', 'target'],
      ['CHANGE', changeText],
      ['REASON', 'reason'],
    ],
    none: 'Nothing was recorded.',
  },
  'nodes.list': {
    show: ({ items, unserved }) =>
      [
        itemTable(items, [
          ['NODE', 'name'],
          ['STATE', ({ draining, beating }) => (draining ? 'draining' : beating ? 'open' : 'silent')],
          ['PID', 'pid'],
          ['RUNNING', ({ running, concurrency }) => `${running}/${concurrency}`],
          ['VERSION', ({ version, release }) => (release === null ? version : `${version} (release ${release})`)],
          ['STARTED', 'startedAt'],
          ['LAST BEAT', 'beatAt'],
          ['ID', 'boot'],
          ['HANDLERS', ({ definitions }: { definitions: string[] }) => definitions.toSorted().join(', ')],
        ]),
        ...(unserved.length > 0 ? [`\nNo node has handlers for due work of: ${unserved.join(', ')}`] : []),
      ].join('\n'),
  },
  'timers.get': {
    command: 'nodes timers',
    show: ({ pending, fired, canceled, dead, poisonCount, poison, instances }) =>
      [
        facts(Object.entries({ pending, fired, canceled, dead, poison: poisonCount }).map(([name, n]) => [name, String(n)])),
        ...(poison.length === 0
          ? []
          : [
              `\nNewest messages that could not be carried out\n${itemTable(poison, [
                ['AT', 'at'],
                ['REASON', 'reason'],
                ['ID', 'id'],
              ])}`,
            ]),
        `\n${instances.length === 0 ? 'No process runs a timer service.' : itemTable(instances, instanceColumns)}`,
      ].join('\n'),
  },
  'nodes.drain': { example: 'web-1', show: (_, { node }) => `${node} drains` },
  'pauses.list': { none: 'Nothing is paused.' },
  'tokens.list': {
    columns: [
      ['NAME', 'name'],
      ['ROLE', 'role'],
      ['TENANTS', ({ tenants }) => tenants?.join(', ') ?? 'all'],
      ['CREATED', 'createdAt'],
      ['BY', 'createdBy'],
      ['EXPIRES', ({ expiresAt }) => expiresAt ?? 'never'],
      ['ID', 'id'],
    ],
    none: 'There are no tokens.',
  },
  'tokens.create': {
    arguments: ['name'],
    example: 'ci --role operator --tenants acme --expires-in 30d',
    show: ({ secret, id }) => `${secret}\n\nThe secret is shown only this once. Revoke it with: punctual tokens revoke ${id}`,
  },
  'tokens.revoke': { example: 'Zk3nQ0rJ8s1xT2aB' },
  'tenants.list': { none: 'There are no jobs, and no tenants.' },
  'ranges.list': { none: 'Every passed-over instant has its own record.' },
} as const satisfies Forms

function timelineText({ now, lanes, more, outages }: WireTimeline): string {
  const text = plainPage({ now, 'more jobs': more === 0 ? null : more, outages })
  if (lanes.length === 0) return `${text}\n  jobs  none`
  const table = itemTable(lanes, [
    ['TENANT', 'tenant'],
    ['JOB', 'job'],
    ['STATUS', ({ marks }) => marks.filter((mark) => mark !== 'on-time').join(', ')],
    ['PAST', pastText],
    ['OPEN', ({ open }) => open.length],
    ['COMING', ({ coming, comingBins }) => coming?.length ?? comingBins?.reduce((sum, { count }) => sum + count, 0)],
    ['NEXT RUN', 'nextRun'],
  ])
  return `${text}\n\n${table}`
}

/** Runs of a lane by their state. */
function pastText({ past, bins }: WireLane): string {
  const counts = new Map<string, number>()
  const add = (state: string, count: number) => count > 0 && counts.set(state, (counts.get(state) ?? 0) + count)
  for (const { state } of past ?? []) add(state, 1)
  for (const { at: _, ...states } of bins ?? []) for (const [state, count] of Object.entries(states)) add(state, count)
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
}

/** A command on a store runs no node, and so has no health to show. */
function healthText({ state, reasons }: WireOverview['health']): string | null {
  return state === 'stopped' ? null : [state, ...reasons].join(': ')
}

function overviewText(overview: WireOverview): string {
  const { now, health, counts, jobs, late, failed, running, waiting, paused, attention, ...lists } = overview
  const some = (values: Readonly<Record<string, unknown>>) =>
    Object.entries(values)
      .filter(([, value]) => typeof value === 'number' && value > 0)
      .map(([name, value]) => `${value} ${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`)
      .join(', ') || 'none'
  const page = plainPage({
    now,
    health: healthText(health),
    jobs: some(jobs),
    work: some(counts),
    late: some({ jobs: late.jobs }),
    failed: some({
      'in the last hour': failed.lastHour,
      dead: failed.dead,
      [failed.causes === 1 ? 'cause' : 'causes']: failed.causes,
    }),
    running: `${running.count} of ${counted(running.slots, 'slot')} on ${counted(running.beating, 'node')}`,
    waiting: some(waiting.by),
    paused: paused ? 'everything' : 'no',
    ...lists,
  })
  if (attention.length === 0) return page
  const problems = itemTable(attention, [
    ['PROBLEM', 'kind'],
    ['COUNT', 'count'],
    ['TENANT', ({ tenant, tenants }) => tenant ?? (tenants.length > 1 ? `${tenants.length} tenants` : tenants[0]?.tenant)],
    ['JOB', 'job'],
    ['LAST', 'lastAt'],
    ['WHAT', ({ label, why }) => cut([label, why].filter(Boolean).join(': '), 80, '…')],
  ])
  return `${page}\n\nATTENTION\n${problems}`
}

function changeText({ before, after, refs, data }: Readonly<Record<string, unknown>>): string {
  const shown = (value: unknown) => (value === null ? '' : JSON.stringify(value))
  const text = before === null && after === null ? `${shown(refs)} ${shown(data)}` : `${shown(before)} → ${shown(after)}`
  return cut(text.trim(), 100, '…')
}

type Instance = WireOutput<'timers.get'>['instances'][number]

const instanceColumns: readonly Column<Instance>[] = [
  ['NODE', 'node'],
  ['STATE', ({ isBeating }) => (isBeating ? 'open' : 'silent')],
  ['BROKER', ({ broker }) => `${broker.name}: ${[sideState(broker), ...broker.warnings].join('; ')}`],
  ['COMMANDS', ({ commands }) => sideState(commands)],
  ['FIRING', ({ firing }) => sideState(firing)],
  ['LAST BEAT', 'beatAt'],
]

function sideState(side: Instance['commands']): string {
  return side === null ? 'elsewhere' : side.isOk ? 'ok' : (side.reason ?? 'down')
}
