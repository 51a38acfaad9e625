import type { Page } from '../query.ts'
import { gateAudit } from '../rules/audit.ts'
import { hasReserved, performed } from '../rules/gate.ts'
import { actOnGate, listGates, writeGate } from '../rules/sql/gate.ts'
import type { GateAnswer, GateRecord, GateRequest, GateReserve, MemberWrite } from '../store.ts'
import { appendAudit } from './audit.ts'
import { runWithin, statementMs } from './checkpoint.ts'
import { fencesOf, shareClaims } from './claim/fence.ts'
import { runSteps, type Session } from './connection/session.ts'
import type { Context } from './context.ts'

export async function gate(context: Context, request: GateRequest): Promise<GateAnswer | Page<GateRecord>> {
  const { db, now } = context
  if (request.act === 'list') return runSteps(db, listGates(now(), request))
  if (request.act === 'reserve' && request.within) return perform(context, request, request.within)
  return db.transaction(async (session) => {
    if (request.act === 'reserve' && !(await isOwned(session, request.member))) return lost
    const { answer } = await runSteps(session, actOnGate(now(), request))
    if (request.act === 'resolve') await appendAudit(session, context, [gateAudit(request.audit, request.to !== null, answer)])
    return answer
  })
}

const lost: GateAnswer = { outcome: 'lost', gate: null }

/**
 * The effect and its key in one commit. The key is inserted before the effect runs, so a second call of the same key waits for the
 * commit of the first; the claim is locked only after it, as in a checkpoint.
 */
async function perform(
  { db, now: clock }: Context,
  request: GateReserve,
  within: NonNullable<GateReserve['within']>,
): Promise<GateAnswer> {
  return db.work(
    async (means) => {
      const { session } = means
      if (request.member && !(await holds(session, request.member))) return lost
      const { answer, now } = await runSteps(session, actOnGate(clock(), request))
      const { gate: record } = answer
      if (!record || !hasReserved(request, answer)) return answer
      const done = performed(record, request, await runWithin(means, within), now)
      if (!(await isOwned(session, request.member))) return lost
      await runSteps(session, writeGate(request, done, false))
      return done.answer
    },
    { isHandlers: true, statementMs, isKept: ({ outcome }) => outcome !== 'lost' },
  )
}

async function isOwned(session: Session, member: MemberWrite | null): Promise<boolean> {
  if (!member) return true
  await shareClaims(session, [member])
  return holds(session, member)
}

async function holds(session: Session, member: MemberWrite): Promise<boolean> {
  const [fence] = await fencesOf(session, [member])
  return fence?.is_owned === true
}
