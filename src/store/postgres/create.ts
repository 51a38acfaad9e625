import { defaultTenant } from '../../model/job.ts'
import { createAudits } from '../rules/audit.ts'
import { idAfter } from '../rules/conflict.ts'
import type { AuditNote, ClaimAnswer, CreatedRow, Hint, NewOccurrence } from '../store.ts'
import { appendAudit } from './audit.ts'
import { fencesOf, shareClaims } from './claim/fence.ts'
import { ConflictError, isDuplicate, storeFailure } from './connection/failure.ts'
import type { Session } from './connection/session.ts'
import type { Context } from './context.ts'
import type { Claiming } from './create/claiming.ts'
import { type Conflict, resolveConflicts } from './create/conflicts.ts'
import { insertNew, JobsChanged, longestWait, type Manner, namesOf, seriesOf } from './create/insert.ts'
import { answerThrottled } from './create/throttle.ts'
import type { Notification } from './hints/notifier.ts'
import { NamesNeeded } from './names/names.ts'

export interface Created {
  readonly rows: readonly CreatedRow[]
  readonly hints: readonly Hint[]
  readonly claimed?: ClaimAnswer | null
  /** Other processes were notified. */
  readonly isSent?: boolean
}

interface Options {
  /** The caller's transaction. */
  readonly joined?: Session
  /** A notification that the commit may bring along. */
  readonly along?: Notification | null
  readonly claiming?: Claiming | null
  readonly audit?: AuditNote | undefined
}

const mostTries = 5

/** Creates occurrences; in the caller's transaction when there is one. */
export async function create(
  context: Context,
  given: readonly NewOccurrence[],
  { joined, along = null, claiming = null, audit }: Options = {},
): Promise<Created> {
  if (given.length === 0) return { rows: [], hints: [] }
  const { db, names, versions } = context
  await names.addSeries(
    namesOf(given).flatMap(({ tenant, job, definition }) => [
      { tenant, job },
      { tenant: defaultTenant, job: definition },
    ]),
  )
  const unread = seriesOf(context, given).filter((series) => versions.of(series) === undefined)
  await versions.refresh(joined ?? db, unread)
  // Others are notified by the caller, after the commit.
  if (joined) return audited(context, joined, given, audit, await createIn(context, joined, given))
  // A single statement is enough, unless a row needs a lock: it may move or replace another, or the turn of its maker may end.
  if (!audit && given.every(({ onConflict, unique, maker }) => onConflict === 'keep' && unique === 'ever' && !maker))
    return given.every(isUnkeyed)
      ? createUnkeyed(context, given, { along, claiming })
      : createIn(context, db, given, { isPatient: false, along, claiming })
  return createInOne(context, given, { claiming, audit })
}

async function audited(
  context: Context,
  session: Session,
  rows: readonly NewOccurrence[],
  audit: AuditNote | undefined,
  created: Created,
): Promise<Created> {
  await appendAudit(session, context, createAudits(audit, rows, created.rows))
  return created
}

/** All in one transaction. Names that it lacks are made outside of it, on no second connection. */
async function createInOne(
  context: Context,
  rows: readonly NewOccurrence[],
  { claiming, audit }: { readonly claiming: Claiming | null; readonly audit: AuditNote | undefined },
): Promise<Created> {
  const { db, names, versions } = context
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction(async (session) => {
        const [, created] = await Promise.all([
          session.rows(`SET LOCAL lock_timeout = '${longestWait}'`),
          createIn(context, session, rows, { isOwn: true, claiming }),
        ])
        return audited(context, session, rows, audit, created)
      })
    } catch (error) {
      if (error instanceof NamesNeeded) await names.addForms(error.forms)
      else if (!(error instanceof JobsChanged)) throw error
      else if (tries >= mostTries) throw storeFailure(new ConflictError(error.message))
      else await versions.refresh(db, seriesOf(context, rows))
    }
  }
}

/** Its id is unique, and is free again when its occurrence is pruned. */
function isUnkeyed({ key, source }: NewOccurrence): boolean {
  return key === null && source !== 'schedule' && source !== 'recovery'
}

/** Ids made for this very call are new, unless the call is repeated: looking first would cost a good part of the insert. */
async function createUnkeyed(
  context: Context,
  rows: readonly NewOccurrence[],
  manner: Pick<Manner, 'along' | 'claiming'>,
): Promise<Created> {
  try {
    return await createIn(context, context.db, rows, { areNew: true, ...manner })
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
  const answers = new Map([...(await answerThrottled(context, session, rows)), ...(await answerRefused(session, rows))])
  const hints: Hint[] = []
  /** How many ids of each row belong to canceled occurrences that free their key. */
  const canceled = rows.map(() => 0)
  /** The number that the first try has drawn for each row. */
  const refs = new Map<number, number>()
  for (let tries = 1; answers.size < rows.length; tries++) {
    // A place in the call has its number from the first try, so rows stay in their order.
    const left = rows.flatMap((row, at): Conflict[] => {
      if (answers.has(at)) return []
      return [{ at, row: canceled[at] === 0 ? row : { ...row, id: idAfter(row, canceled[at] as number) } }]
    })
    const drawn = left.flatMap(({ at }) => refs.get(at) ?? [])
    const inserted = await insertNew(
      context,
      session,
      left.map(({ row }) => row),
      tries === 1 ? manner : { ...manner, along: null },
      drawn,
    )
    const { now, created } = inserted
    if (created === 'all' && tries === 1 && answers.size === 0) {
      const { claimed = null } = inserted
      // Work that runs already needs no hint.
      const hints = claimed ? [] : dueHints(rows, now)
      return { rows: rows.map(madeAnswer), hints, claimed, isSent: Boolean(manner.along) }
    }
    if (tries === 1) for (const [i, ref] of inserted.refs.entries()) refs.set((left[i] as Conflict).at, ref)
    const made = left.filter(({ row }) => created === 'all' || created.delete(row.id))
    for (const { at, row } of made) answers.set(at, madeAnswer(row))
    hints.push(
      ...dueHints(
        made.map(({ row }) => row),
        now,
      ),
    )
    const rest = left.filter(({ at }) => !answers.has(at))
    if (rest.length > 0) {
      const resolved = await resolveConflicts(context, session, rest, manner.isOwn ?? false)
      for (const [at, answer] of resolved.answers) answers.set(at, answer)
      for (const at of resolved.free) canceled[at] = (canceled[at] as number) + 1
      hints.push(...resolved.hints)
    }
    // The occurrence in the way was pruned meanwhile.
    if (tries > 10 * mostTries) throw storeFailure(new ConflictError('what is in the way of a new occurrence cannot be found'))
  }
  return { rows: rows.map((_, at) => answers.get(at) as CreatedRow), hints }
}

/** The answers of rows whose maker's turn is over or canceled, by their place in the call. The turns of the others last until the commit. */
async function answerRefused(session: Session, rows: readonly NewOccurrence[]): Promise<ReadonlyMap<number, CreatedRow>> {
  const made = rows.flatMap(({ id, maker }, at) => (maker ? [{ at, id, ...maker }] : []))
  if (made.length === 0) return new Map()
  const [, fences] = await Promise.all([shareClaims(session, made), fencesOf(session, made)])
  const refused = made.filter((_, at) => !fences[at]?.is_owned || fences[at]?.is_canceled)
  return new Map(refused.map(({ at, id }) => [at, { id, outcome: 'refused', state: null, differs: false }]))
}

function madeAnswer({ id }: NewOccurrence): CreatedRow {
  return { id, outcome: 'created', state: 'pending', differs: false }
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
