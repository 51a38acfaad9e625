import { defaultTenant } from '../../model/job.ts'
import type { CreateAnswer, Hint, NewOccurrence } from '../store.ts'
import type { Context } from './context.ts'
import type { Follow, Session } from './database.ts'
import { NamesNeeded } from './dictionary.ts'
import { ConflictError, isDuplicate, storeFailure } from './failure.ts'
import { resolve } from './in-the-way.ts'
import { insertNew, JobsChanged, longestWait, type Manner, namesOf, seriesOf } from './insert-new.ts'
import type { Notification } from './listen.ts'

export interface Created {
  readonly answers: readonly CreateAnswer[]
  readonly hints: readonly Hint[]
  /** Other processes have been told. */
  readonly isTold?: boolean
}

/** Where and how to create. */
interface CreateOptions {
  /** The caller's transaction. */
  readonly joined?: Session
  /** What the commit may bring along to tell others. */
  readonly along?: Notification | null
  /** Is told when what cannot have to wait for anybody was sent, and may have another statement follow it. */
  readonly onSent?: ((follow: Follow) => void) | null
}

const mostTries = 5

/** Creates occurrences; in the caller's transaction when there is one. */
export async function create(
  context: Context,
  given: readonly NewOccurrence[],
  { joined, along = null, onSent = null }: CreateOptions = {},
): Promise<Created> {
  if (given.length === 0) return { answers: [], hints: [] }
  // Each has an answer of its own, also where the same row is given twice.
  const rows = new Set(given).size === given.length ? given : given.map((row) => ({ ...row }))
  const { db, dictionary, facts } = context
  await dictionary.addSeries(
    namesOf(rows).flatMap(({ tenant, job, definition }) => [
      { tenant, job },
      { tenant: defaultTenant, job: definition },
    ]),
  )
  const unread = seriesOf(context, rows).filter((series) => facts.versions(series) === undefined)
  await facts.refresh(joined ?? db, unread)
  // Others are told by the caller, after the commit.
  if (joined) return createIn(context, joined, rows)
  // A single statement is a commit of its own; what may move or replace another needs its lock.
  if (rows.every(({ onConflict, unique }) => onConflict === 'keep' && unique === 'ever'))
    return rows.every(isUnkeyed)
      ? createUnkeyed(context, onSent ? db.leading(onSent) : db, rows, along)
      : createIn(context, db, rows, { isPatient: false, along })
  return createInOne(context, rows)
}

/**
 * All in one transaction of ours. What it turns out to lack is got outside of it, on no second connection: all of them may be held
 * by others that lack something too.
 */
async function createInOne(context: Context, rows: readonly NewOccurrence[]): Promise<Created> {
  const { db, dictionary, facts } = context
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction(async (session) => {
        const [, created] = await Promise.all([
          session.all(`SET LOCAL lock_timeout = '${longestWait}'`),
          createIn(context, session, rows, { isOwn: true }),
        ])
        return created
      })
    } catch (error) {
      if (error instanceof NamesNeeded) await dictionary.addKinds(error.kinds)
      else if (!(error instanceof JobsChanged)) throw error
      else if (tries >= mostTries) throw storeFailure(new ConflictError(error.message))
      else await facts.refresh(db, seriesOf(context, rows))
    }
  }
}

/** Its id is nobody else's, and is free again when its occurrence is pruned. */
function isUnkeyed({ key, source }: NewOccurrence): boolean {
  return key === null && source !== 'schedule' && source !== 'recovery'
}

/** Ids made for this very call are new, unless the call is said again: looking first would cost a good part of the insert. */
async function createUnkeyed(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  along: Notification | null,
): Promise<Created> {
  try {
    return await createIn(context, session, rows, { areNew: true, along })
  } catch (error) {
    if (isDuplicate(error)) return createIn(context, context.db, rows)
    throw error
  }
}

async function createIn(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  manner: Manner = {},
): Promise<Created> {
  for (let tries = 1; ; tries++) {
    const { now, created } = await insertNew(context, session, rows, manner)
    if (created === 'all') return { answers: rows.map(madeAnswer), hints: dueHints(rows, now), isTold: Boolean(manner.along) }
    const answers = new Map<NewOccurrence, CreateAnswer>()
    for (const row of rows) {
      // Of several with the same id the first has made it.
      if (created.delete(row.id)) answers.set(row, madeAnswer(row))
    }
    const left = rows.filter((row) => !answers.has(row))
    const hints: Hint[] = dueHints(
      rows.filter((row) => answers.has(row)),
      now,
    )
    if (left.length > 0) {
      const found = await resolve(context, session, left, manner.isOwn ?? false)
      for (const [row, answer] of found.answers) answers.set(row, answer)
      hints.push(...found.hints)
    }
    if (answers.size === rows.length) return { answers: rows.map((row) => answers.get(row) as CreateAnswer), hints }
    // What stood in the way was pruned meanwhile.
    if (tries >= mostTries) throw new Error('What stands in the way of a new occurrence cannot be found')
  }
}

function madeAnswer({ id }: NewOccurrence): CreateAnswer {
  return { id, outcome: 'created', differs: false }
}

function dueHints(rows: readonly NewOccurrence[], now: number): Hint[] {
  return rows.length === 0 ? [] : [{ kind: 'due', at: firstDue(rows, now) }]
}

/** When the first of them is due, if they are made now. */
export function firstDue(rows: readonly NewOccurrence[], now: number): number {
  let at = Number.POSITIVE_INFINITY
  for (const { due } of rows) at = Math.min(at, typeof due === 'number' ? due : now + due.in)
  return at
}
