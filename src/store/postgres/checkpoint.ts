import { PunctualError } from '../../errors.ts'
import type { CheckpointItem, WriteAnswer } from '../store.ts'
import { column } from './arrays.ts'
import { insertRows } from './batch.ts'
import type { Context } from './context.ts'
import type { Session } from './database.ts'
import { toJson } from './records.ts'

/** Records what goes on in turns that have not ended. Items with work of their own are committed one by one. */
export async function checkpoint(context: Context, items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]> {
  const answers = new Map<CheckpointItem, WriteAnswer>()
  const bare = items.filter(({ within }) => within === undefined)
  if (bare.length > 0) {
    const written = await context.db.transaction((session) => record(session, bare))
    for (const [at, item] of bare.entries()) answers.set(item, written[at] as WriteAnswer)
  }
  for (const item of items) if (item.within) answers.set(item, await commitWithin(context, item, item.within))
  return items.map((item) => answers.get(item) as WriteAnswer)
}

async function record(session: Session, items: readonly CheckpointItem[]): Promise<readonly WriteAnswer[]> {
  const owned = await ownedOf(session, items)
  await write(
    session,
    items.filter((_, at) => owned.has(at)),
  )
  return items.map((_, at) => (owned.has(at) ? 'ok' : 'lost'))
}

/** Which of the items are about turns that their claims still hold. The claims stay locked, so that it remains so. */
async function ownedOf(session: Session, items: readonly CheckpointItem[]): Promise<ReadonlySet<number>> {
  const ids = column(items.map(({ claim }) => claim.id))
  const [, rows] = await Promise.all([
    // What was read before the lock may be out of date: the next statement looks anew.
    session.all('SELECT id FROM punctual.claim WHERE id = ANY($1::text[]) ORDER BY id FOR SHARE', [ids]),
    session.all<[number]>(
      `SELECT i.at FROM unnest($1::text[], $2::text[], $3::bigint[], $4::int[]) WITH ORDINALITY i (id, token, ref, turn, at)
        JOIN punctual.claim c ON c.id = i.id AND c.token = i.token
        WHERE c.turns[array_position(c.refs, i.ref)] = i.turn
          AND NOT EXISTS (SELECT 1 FROM punctual.turn t WHERE t.ref = i.ref AND t.turn = i.turn)`,
      [
        ids,
        column(items.map(({ claim }) => claim.token)),
        column(items.map(({ ref }) => ref)),
        column(items.map(({ turn }) => turn)),
      ],
    ),
  ])
  return new Set(rows.map(([at]) => at - 1))
}

async function write(session: Session, items: readonly CheckpointItem[]): Promise<void> {
  const progress = new Map(items.flatMap(({ ref, progress: one }) => (one ? [[ref, one]] : [])))
  const starts = new Map(items.flatMap(({ ref, turn, start }) => (start ? [[ref, { turn, ...start }]] : [])))
  await Promise.all([
    insertRows(
      session,
      'attempt',
      {
        ref: 'bigint',
        turn: 'int',
        task: 'text',
        n: 'int',
        state: 'punctual.attempt_state',
        started_at: 'float8',
        ended_at: 'float8',
        retry_at: 'float8',
        error: 'text',
        result: 'text',
      },
      items.flatMap(({ ref, attempts }) =>
        attempts.map(({ turn, task, n, state, startedAt, endedAt, retryAt, error, result }) => [
          ref,
          turn,
          task,
          n,
          state,
          startedAt,
          endedAt,
          retryAt,
          toJson(error),
          result,
        ]),
      ),
      'ON CONFLICT DO NOTHING',
    ),
    insertRows(
      session,
      'progress',
      { ref: 'bigint', task: 'text', done: 'float8', message: 'text', at: 'float8' },
      [...progress].map(([ref, { task, done, message, at }]) => [ref, task, done, message, at]),
      'ON CONFLICT (ref) DO UPDATE SET task = excluded.task, done = excluded.done, message = excluded.message, at = excluded.at',
    ),
    writeStarts(
      session,
      [...starts].map(([ref, start]) => ({ ref, ...start })),
    ),
  ])
}

/** Notes since when turns run and until when they may. */
export async function writeStarts(
  session: Session,
  starts: readonly { ref: number; turn: number; startedAt: number; deadlineAt: number }[],
): Promise<void> {
  await insertRows(
    session,
    'start',
    { ref: 'bigint', turn: 'int', started_at: 'float8', deadline_at: 'float8' },
    starts.map(({ ref, turn, startedAt, deadlineAt }) => [ref, turn, startedAt, deadlineAt]),
    'ON CONFLICT (ref) DO UPDATE SET turn = excluded.turn, started_at = excluded.started_at, deadline_at = excluded.deadline_at',
  )
}

/** Runs a handler's work and records its success in one commit. */
async function commitWithin(
  { db }: Context,
  item: CheckpointItem,
  within: NonNullable<CheckpointItem['within']>,
): Promise<WriteAnswer> {
  return db.work(async (session, client) => {
    const owned = await ownedOf(session, [item])
    if (owned.size === 0) return 'lost'
    // The attempt that the work belongs to may have been committed before, and with it the work.
    if (await isRecorded(session, item)) return 'ok'
    const result = await runWithin(session, () => within(client))
    const attempts = item.attempts.map((attempt, at) => (at === item.attempts.length - 1 ? { ...attempt, result } : attempt))
    await write(session, [{ ...item, attempts }])
    return 'ok'
  })
}

async function isRecorded(session: Session, { ref, attempts }: CheckpointItem): Promise<boolean> {
  const last = attempts.at(-1)
  if (!last) return false
  const rows = await session.all('SELECT 1 AS one FROM punctual.attempt WHERE ref = $1 AND task = $2 AND n = $3', [
    ref,
    last.task,
    last.n,
  ])
  return rows.length > 0
}

/** The transaction stays ours to end: a savepoint tells whether the work has ended it. */
async function runWithin(session: Session, work: () => string | null | Promise<string | null>): Promise<string | null> {
  await session.all('SAVEPOINT punctual_work')
  const result = await work()
  try {
    await session.all('RELEASE SAVEPOINT punctual_work')
  } catch (cause) {
    throw new PunctualError(
      'transaction.invalid',
      'The work of a transaction may not begin, commit or roll back: Punctual commits it with the success of the task',
      {},
      { cause },
    )
  }
  return result
}
