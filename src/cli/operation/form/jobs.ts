import type { OperationName, WireJob } from '../../../http/wire.ts'
import { differences } from '../../../model/settings.ts'
import { bold, facts, isoInstant } from '../../print.ts'
import type { Form } from '../form.ts'
import { itemTable, text } from '../show.ts'

type Forms = { readonly [Name in OperationName]?: Form<Name> }

export const jobForms = {
  'jobs.list': {
    columns: [
      ['JOB', 'name'],
      ['TENANT', 'tenant'],
      ['VERSION', ({ version }) => `v${version}`],
      ['STATUS', ({ marks }: { marks: string[] }) => marks.filter((mark) => mark !== 'on-time').join(', ')],
      ['NEXT RUN', 'nextRun'],
      ['LAST RUN', 'lastRun'],
      ['SCHEDULE', ({ schedule }) => schedule?.words ?? 'none'],
    ],
    none: 'There are no jobs.',
  },
  'jobs.get': { example: 'report', show: jobPage },
  'jobs.status': { example: 'report' },
  'jobs.create': {
    arguments: ['definition'],
    example: 'sync --name sync/north --schedule "*/15 * * * *" --payload \'{"shop": "north"}\'',
    show: ({ job, outcome, version, nextRun }) =>
      `${outcome} ${job}, version ${version}${nextRun ? `, next run ${isoInstant(nextRun)}` : ''}`,
  },
  'jobs.update': {
    example: 'report --schedule "0 8 * * *" --tz Europe/Oslo --update graceful',
    show: versionText,
    refuse: (given) => {
      const { job: _, tz, expectVersion: __, update: ___, reason: ____, tenant: _____, ...changes } = given
      if (tz !== undefined && given.schedule === undefined) return '--tz goes with --schedule'
      return Object.keys(changes).length === 0 ? 'say what to change, such as --schedule or --retry' : null
    },
  },
  'jobs.versions': {
    example: 'report',
    columns: [
      ['VERSION', ({ version }) => `v${version}`],
      ['HOLDS FROM', 'effectiveAt'],
      ['BY', ({ by }) => by ?? 'code'],
      ['CHANGED', ({ changes }: { changes: { field: string }[] }) => changes.map(({ field }) => field).join(', ')],
      ['SCHEDULE', ({ scheduleText }) => scheduleText ?? 'none'],
    ],
  },
  'jobs.diff': {
    arguments: ['from', 'to'],
    example: 'report 1 2',
    show: ({ items }, { from, to }) =>
      items.length === 0
        ? 'Nothing differs.'
        : itemTable(items, [
            ['FIELD', 'field'],
            [`V${from}`, (change) => JSON.stringify(change.from)],
            [`V${to}`, (change) => JSON.stringify(change.to)],
          ]),
  },
  'jobs.rollback': { arguments: ['version'], example: 'report 2', show: versionText },
  'jobs.reset': { example: 'report --fields schedule', show: versionText },
  'jobs.retire': { example: 'report', show: versionText },
  'jobs.pause': { example: 'report --for 2h --reason "the database is moved"' },
  'jobs.resume': { example: 'report' },
  'jobs.trigger': { top: 'trigger', example: 'report', show: createdText },
  'jobs.enqueue': {
    top: 'enqueue',
    arguments: ['payload?'],
    example: `payment-timeout '{"order": 42}' --idempotency-key order-42 --delay 15m`,
    show: createdText,
    refuse: ({ key, idempotencyKey }) =>
      key !== undefined && idempotencyKey !== undefined ? '--key cannot be used with option --idempotency-key' : null,
  },
  'jobs.cancel': { example: 'payment-timeout --idempotency-key order-42' },
  'schedules.preview': {
    example: '--schedule "0 3 * * *" --tz Europe/Warsaw',
    show: ({ schedule, next, warnings }) =>
      [
        schedule.words,
        '',
        itemTable(next, [
          ['LOCAL', ({ weekday, local }) => `${weekday} ${local.replace('T', ' ')}`],
          ['UTC', 'at'],
          ['OFFSET', 'offset'],
          ['CLOCK', 'mark'],
        ]),
        ...warnings.map(({ message }) => `warning: ${message}`),
      ].join('\n'),
  },
} as const satisfies Forms

function versionText(
  { version, effectiveAt }: { version: number; effectiveAt: string },
  { job }: Readonly<Record<string, unknown>>,
): string {
  return `${job} has version ${version}, which holds from ${isoInstant(effectiveAt)} on`
}

function createdText({ outcome, id, differs }: { outcome: string; id: string; differs: boolean }): string {
  return `${outcome} ${id}${differs ? ' (the existing work has another payload)' : ''}`
}

function jobPage(job: WireJob): string {
  const settings = Object.entries(differences(job.settings as never) ?? {}).map(([field, value]) => `${field} ${text(value)}`)
  const counts = Object.entries(job.counts).filter(([, count]) => count > 0)
  return [
    bold(job.name),
    facts([
      ['tenant', job.tenant],
      ['definition', job.definition],
      ['version', `${job.version}, changed ${isoInstant(job.updatedAt)}`],
      ['schedule', job.schedule?.words ?? 'none'],
      ['next run', isoInstant(job.nextRun)],
      ['last run', isoInstant(job.lastRun)],
      ['status', statusText(job)],
      ...job.pauses.map((pause) => ['paused', pauseText(pause)] as const),
      ['overridden', job.overridden.join(', ')],
      ['payload', JSON.stringify(job.payload) ?? ''],
      ['settings', settings.join(', ')],
      ['tasks', job.taskGraph.map(({ name, after }) => (after ? `${name} after ${after.join(' and ')}` : name)).join(', ')],
      ['counts', counts.map(([state, count]) => `${count} ${state}`).join(', ')],
      ['declared by', job.declaredBy.map(({ node }) => node).join(', ')],
    ]),
  ].join('\n')
}

function statusText({ retired, enabled, orphaned, paused, running, schedule }: WireJob): string {
  const parts = [
    ...(retired ? ['retired: nobody declares it any more'] : []),
    ...(enabled ? [] : ['disabled: no instants are generated']),
    ...(paused ? ['paused'] : []),
    ...(orphaned ? ['orphaned: no live node declares it'] : []),
    ...(running > 0 ? ['running now'] : []),
  ]
  return parts.join('; ') || (schedule ? 'active' : 'runs when it is triggered or enqueued')
}

function pauseText({ tenant, job, from, until, reason, by }: WireJob['pauses'][number]): string {
  const what = job !== null ? '' : tenant === null ? 'everything, ' : 'the whole tenant, '
  return `${what}since ${isoInstant(from)}${until ? ` until ${isoInstant(until)}` : ''}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`
}
