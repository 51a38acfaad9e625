import type { CheckpointItem, WriteAnswer } from '../store.ts'
import { appendAudit } from './audit.ts'
import { cancel } from './cancel.ts'
import { attemptColumns, type Columns, logColumns, replaceLog } from './changes/change-statement.ts'
import { attemptValues } from './changes/changes.ts'
import { fencesOf, shareClaims } from './claim/fence.ts'
import { column } from './connection/arrays.ts'
import type { WorkMeans } from './connection/database.ts'
import { isAborted } from './connection/failure.ts'
import { handlerClient, workError } from './connection/handler-client.ts'
import type { Session } from './connection/session.ts'
import type { Context } from './context.ts'
import { create } from './create.ts'

/** Records starts, progress and attempts of turns that have not ended. Items with `within` are committed one by one. */
export async function checkpoint(context: Context, items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]> {
  const answers = new Map<CheckpointItem, WriteAnswer>()
  const bare = items.filter(({ within }) => within === undefined)
  if (bare.length > 0) {
    const written = await context.db.transaction((session) => record(session, context, bare))
    for (const [at, item] of bare.entries()) answers.set(item, written[at] as WriteAnswer)
  }
  for (const item of items) if (item.within) answers.set(item, await commitWithin(context, item, item.within))
  return items.map((item) => answers.get(item) as WriteAnswer)
}

async function record(session: Session, context: Context, items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]> {
  const [, fences] = await Promise.all([shareClaims(session, items), fencesOf(session, items)])
  await write(
    session,
    context,
    items.filter((_, at) => fences[at]?.is_owned),
  )
  return fences.map(({ is_owned: isOwned }) => (isOwned ? 'ok' : 'lost'))
}

const attemptNames = Object.keys(attemptColumns).join(', ')

const insertAttempts = `INSERT INTO punctual.attempt (${attemptNames}) SELECT * FROM unnest(${typesOf(attemptColumns)})
  ON CONFLICT DO NOTHING RETURNING 1 AS one`

const putProgress = `INSERT INTO punctual.progress (ref, task, done, message, at)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::float8[], $4::text[], $5::float8[])
  ON CONFLICT (ref) DO UPDATE SET task = excluded.task, done = excluded.done, message = excluded.message, at = excluded.at`

const putLogs = `INSERT INTO punctual.log (${Object.keys(logColumns).join(', ')})
  SELECT * FROM unnest(${typesOf(logColumns)}) ${replaceLog}`

/** Notes since when turns run that have run for long. */
export const putStarts = `INSERT INTO punctual.start (ref, turn, started_at, deadline_at)
  SELECT * FROM unnest($1::bigint[], $2::int[], $3::float8[], $4::float8[])
  ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, started_at = excluded.started_at, deadline_at = excluded.deadline_at`

function typesOf(columns: Columns): string {
  return Object.values(columns)
    .map((type, at) => `$${at + 1}::${type}[]`)
    .join(', ')
}

type Row = readonly (string | number | boolean | null)[]

/** Sends a batch, each row an array in the order of the statement's columns. */
async function send(session: Session, sql: string, rows: readonly Row[]): Promise<number> {
  const [first] = rows
  if (!first) return 0
  return (
    await session.rows(
      sql,
      first.map((_, at) => column(rows.map((row) => row[at] as Row[number]))),
    )
  ).length
}

/** Returns how many of the attempts were not recorded before. */
async function write(session: Session, context: Context, items: readonly CheckpointItem[]): Promise<number> {
  // Of several for one occurrence the last counts.
  const progress = new Map(items.flatMap(({ member: { ref }, progress: one }) => (one ? [[ref, one]] : [])))
  const starts = new Map(items.flatMap(({ member: { ref, turn }, start }) => (start ? [[ref, { turn, ...start }]] : [])))
  const attempts = items.flatMap(({ member, attempts: own }) => own.map((attempt) => attemptValues(member.ref, attempt)))
  const logs = new Map(
    items.flatMap(({ member: { ref }, logs: own = [] }) =>
      own.map(({ turn, task, n, text }) => [`${ref} ${turn} ${n} ${task}`, [ref, turn, task, n, text]] as const),
    ),
  )
  const [added] = await Promise.all([
    send(session, insertAttempts, attempts),
    send(
      session,
      putProgress,
      [...progress].map(([ref, { task, done, message, at }]) => [ref, task, done, message, at]),
    ),
    send(session, putLogs, [...logs.values()]),
    send(
      session,
      putStarts,
      [...starts].map(([ref, { turn, startedAt, deadlineAt }]) => [ref, turn, startedAt, deadlineAt]),
    ),
    appendAudit(
      session,
      context,
      items.flatMap(({ events }) => events ?? []),
    ),
  ])
  return added
}

type Within = NonNullable<CheckpointItem['within']>

/** The longest time for one of the store's statements beside the handler's work. */
export const statementMs = 10_000

/**
 * Runs a handler's work and records its success in one commit. The claim is not locked while the work goes on: all that its node
 * has to record of the same claim would have to wait. It is looked at before, and locked after the work.
 */
async function commitWithin(context: Context, item: CheckpointItem, within: Within): Promise<WriteAnswer> {
  const { answer } = await context.db.work((means) => workWithin(context, means, item, within), {
    isHandlers: true,
    statementMs,
    isKept: ({ isKept }) => isKept,
  })
  return answer
}

async function workWithin(
  context: Context,
  means: WorkMeans,
  item: CheckpointItem,
  within: Within,
): Promise<{ readonly answer: WriteAnswer; readonly isKept: boolean }> {
  const { session } = means
  const [existing] = await fencesOf(session, [item])
  if (!existing?.is_owned) return { answer: 'lost', isKept: false }
  const before = await recordedOf(session, item)
  if (before) {
    item.recorded?.(before.result)
    return { answer: 'ok', isKept: false }
  }
  const result = await runWithin(means, within)
  await shareClaims(session, [item])
  const [fence] = await fencesOf(session, [item])
  if (!fence?.is_owned) return { answer: 'lost', isKept: false }
  if (fence.is_canceled) return { answer: 'refused', isKept: false }
  const attempts = item.attempts.map((attempt, at) => (at === item.attempts.length - 1 ? { ...attempt, result } : attempt))
  if ((await write(session, context, [{ ...item, attempts }])) === attempts.length) {
    await applyChanges(context, session, item)
    return { answer: 'ok', isKept: true }
  }
  // Said before, under a call whose answer was lost, and committed only now: this time must not count as well.
  const meanwhile = await recordedOf(session, item)
  item.recorded?.(meanwhile?.result ?? null)
  return { answer: 'ok', isKept: false }
}

async function applyChanges(context: Context, session: Session, { changes }: CheckpointItem): Promise<void> {
  const { creates = [], cancels = [] } = changes?.() ?? {}
  if (creates.length > 0) await create(context, creates, { joined: session })
  for (const request of cancels) await cancel(session, context, request)
}

/** The result of the attempt that the work belongs to, if that has been committed before, and with it the work. */
async function recordedOf(
  session: Session,
  { member: { ref }, attempts }: CheckpointItem,
): Promise<{ readonly result: string | null } | undefined> {
  const last = attempts.at(-1)
  if (!last) return undefined
  const [row] = await session.rows<{ result: string | null }>(
    'SELECT result FROM punctual.attempt WHERE ref = $1 AND task = $2 AND n = $3',
    [ref, last.task, last.n],
  )
  return row
}

/** The transaction stays ours to end, and the client is the handler's only until its work is done. */
export async function runWithin({ session, client, cut, onCall }: WorkMeans, within: Within): Promise<string | null> {
  await session.rows('SAVEPOINT punctual_work')
  const lent = handlerClient(client, onCall)
  let result: string | null
  try {
    result = await Promise.race([within(lent.client), cut])
  } finally {
    lent.revoke()
  }
  try {
    await session.rows('RELEASE SAVEPOINT punctual_work')
  } catch (cause) {
    throw isAborted(cause)
      ? workError('continues after a failed statement: rethrow the error, or wrap the statement in a savepoint', cause)
      : workError('may not begin, commit or roll back: Punctual commits it with the success of the task', cause)
  }
  return result
}
