import type { OperationName, WireOccurrence, WireOccurrenceLine } from '../../../http/wire.ts'
import { cut } from '../../../model/cut.ts'
import { bold, facts, isoInstant, keyText } from '../../print.ts'
import type { Form } from '../form.ts'
import type { Column } from '../show.ts'
import { itemTable } from '../show.ts'

type Forms = { readonly [Name in OperationName]?: Form<Name> }

const anId = '01a1e133-38fc-71d6-a05c-514da9ff1aed'
const errorText = ({ error }: { error: { message: string } | null }) => cut(error?.message ?? '', 80, '…')

export const occurrenceColumns: readonly Column<WireOccurrenceLine>[] = [
  ['STATE', 'state'],
  ['JOB', 'job'],
  ['KEY', keyText],
  ['SOURCE', 'source'],
  ['DUE', 'dueAt'],
  ['TURN', 'turn'],
  ['ID', 'id'],
  ['ERROR', errorText],
]

export const occurrenceForms = {
  'occurrences.list': {
    example: '--state failed dead --limit 20',
    columns: occurrenceColumns,
    none: 'There are no such occurrences.',
  },
  'occurrences.counts': {
    example: '--job report',
    show: ({ states, total }) =>
      itemTable(
        [...Object.entries(states), ['total', total] as const].filter(([, { count }]) => count > 0),
        [
          ['STATE', ([state]) => state],
          ['COUNT', ([, { count, capped }]) => `${count}${capped ? ' or more' : ''}`],
        ],
      ),
  },
  'occurrences.get': { example: anId, show: occurrencePage },
  'occurrences.find': { example: '--job payment-timeout --key order-42', show: occurrencePage },
  'occurrences.cancel': { example: `${anId} --reason "not needed"` },
  'occurrences.reschedule': { example: `${anId} --delay 1h` },
  'occurrences.retry': { example: anId, show: (_, { id }) => `retrying ${id}` },
  'occurrences.discard': { example: `${anId} --reason "paid by hand"`, show: (_, { id }) => `discarded ${id}` },
  'occurrences.delete': { top: 'delete', example: `${anId} --reason "erasure request"` },
  'occurrences.prune': { top: 'prune', example: '--older-than 30d', show: ({ pruned }) => `${pruned} deleted` },
  'occurrences.replay': { example: `${anId} --reason "the rates were wrong"`, show: ({ outcome, id }) => `${outcome} ${id}` },
  'dead.list': {
    command: 'dead groups',
    example: '--job payment-timeout',
    columns: [
      ['COUNT', 'count'],
      ['JOB', 'job'],
      ['TASK', 'task'],
      ['FIRST', 'firstAt'],
      ['LAST', 'lastAt'],
      ['CAUSE', 'cause'],
      ['ERROR', ({ label }) => cut(label, 80, '…')],
    ],
    none: 'Nothing is dead.',
  },
  'operations.list': {
    columns: [
      ['KIND', 'kind'],
      ['STATE', 'state'],
      ['DONE', ({ done }) => (done === null ? '' : `${Math.floor(done * 100)} %`)],
      ['JOB', 'job'],
      ['BY', 'by'],
      ['CREATED', 'createdAt'],
      ['ID', 'id'],
      ['REASON', 'reason'],
    ],
    none: 'There are no operations.',
  },
  'operations.get': { example: anId },
  'operations.preview': {
    arguments: ['kind'],
    example: 'retry --job report --cause 1f3a --reason "mail was down"',
    show: previewText,
  },
  'operations.start': {
    arguments: ['kind'],
    example: 'retry --job report --cause 1f3a --reason "mail was down"',
    show: ({ id }) => `created ${id}`,
  },
  'operations.abort': { example: anId },
} as const satisfies Forms

export function previewText({
  acts,
  matches,
  capped,
  first,
  leftOut,
  warnings,
}: {
  acts: number
  matches: number
  capped: boolean
  first: readonly string[]
  leftOut: readonly { reason: string; count: number }[]
  warnings: readonly string[]
}): string {
  const shown = first.slice(0, 20)
  return [
    `${acts} of ${matches}${capped ? ' or more' : ''} would be acted on.`,
    ...leftOut.map(({ reason, count }) => `${count} ${reason}`),
    ...warnings.map((warning) => `warning: ${warning}`),
    ...(shown.length > 0 ? ['', ...shown.map((one) => `  ${isoInstant(one)}`)] : []),
    ...(acts > shown.length && shown.length > 0 ? [`  and ${acts - shown.length} more`] : []),
  ].join('\n')
}

interface AttemptLine {
  readonly name: string
  readonly state: string
  readonly n: number | null
  readonly startedAt: string | null
  readonly error: { readonly message: string } | null
}

function occurrencePage(one: WireOccurrence): string {
  const attempts = one.tasks.flatMap(({ name, state, attempts }): AttemptLine[] =>
    attempts.length === 0
      ? [{ name, state, n: null, startedAt: null, error: null }]
      : attempts.map((attempt) => ({ name, ...attempt })),
  )
  const { wait, span, progress, replay } = one
  return [
    bold(one.id),
    facts([
      ['job', one.job],
      ['tenant', one.tenant === 'default' ? '' : one.tenant],
      ['state', one.reason === null ? one.state : `${one.state} (${one.reason})`],
      [
        'waits',
        wait
          ? `for ${wait.reason}${wait.until ? ` until ${isoInstant(wait.until)}` : ''}${wait.blockers.length > 0 ? ` held by ${wait.blockers.join(', ')}` : ''}`
          : '',
      ],
      ['source', one.source],
      ['repeats', replay ? `${replay.origin}: ${replay.reason}` : ''],
      ['covers', span ? `${span.count} instants from ${isoInstant(span.from)} to ${isoInstant(span.to)}` : ''],
      ['key', one.key ?? ''],
      ['idempotency key', one.idempotencyKey ?? ''],
      ['entity', one.entity ?? ''],
      ['due', isoInstant(one.dueAt)],
      ['started', isoInstant(one.startedAt)],
      ['ended', isoInstant(one.endedAt)],
      ['node', one.nodeName ?? ''],
      [
        'progress',
        progress
          ? `${Math.round(progress.done * 100)} %${progress.message ? `, ${progress.message}` : ''} (${progress.task})`
          : '',
      ],
      ['payload', JSON.stringify(one.payload) ?? ''],
      ['result', JSON.stringify(one.result) ?? ''],
      ['error', one.error?.message ?? ''],
      ['parent', one.parent ? `${one.parent.id} of ${one.parent.job}` : ''],
      ['children', one.children.map(({ id, job, state }) => `${id} of ${job} (${state})`).join(', ')],
    ]),
    '',
    itemTable(attempts, [
      ['TASK', 'name'],
      ['STATE', 'state'],
      ['ATTEMPT', 'n'],
      ['STARTED', 'startedAt'],
      ['ERROR', (attempt) => cut(attempt.error?.message ?? '', 80, '…')],
    ]),
  ].join('\n')
}
