// The end of a turn whose node is gone, or which is past its deadline.
import { goesToDeadLetters } from '../../model/dead-letter.ts'
import type { JobSpec } from '../../model/job.ts'
import type { Source, TurnEnd } from '../../model/lifecycle.ts'
import type { OccurrenceRecord, TurnRecord } from '../../model/occurrence.ts'
import { retryDelay } from '../../model/retry.ts'
import { cascade, type Settings } from '../../model/settings.ts'
import { bareEnd, recoveries } from '../../model/turn.ts'
import type { RescueAnswer, RescueRequest } from '../messages/maintenance.ts'

export interface InterruptedTurn {
  /** `lost` with its node, or `stale`: past its deadline. */
  readonly by: 'lost' | 'stale'
  /** When its handler began, where that was recorded. */
  readonly startedAt: number | null
  /** The reason of a cancel that was asked for, null without a reason; undefined when none was. */
  readonly cancel: string | null | undefined
  readonly turns: readonly TurnRecord[]
  /** Recoveries after which an occurrence is dead: it may be what takes its nodes down. */
  readonly mostRecoveries: number
  readonly settings: Settings
  readonly source: Source
  /** How long after its creation the occurrence was first due. */
  readonly delayMs: number
}

export interface Recovery {
  readonly end: Extract<TurnEnd, 'lost' | 'stale' | 'released' | 'canceled' | 'failed' | 'dead'>
  readonly reason: string | null
  readonly error: { readonly message: string; readonly code: string } | null
  /** The wait before the next turn; null when there is none. */
  readonly delayMs: number | null
}

/** A running occurrence, as a rescue finds it. */
export interface InterruptedMember extends Pick<InterruptedTurn, 'by' | 'startedAt' | 'turns'> {
  readonly record: OccurrenceRecord
  readonly turn: number
  readonly dueAt: number
  readonly hasBegun: boolean
  readonly node: string | null
  /** A cancel that was asked for in this turn. */
  readonly cancel: { readonly reason: string | null } | null
  readonly spec: JobSpec | undefined
}

export interface RecoveredMember {
  readonly answer: RescueAnswer['rescued'][number]
  /** The end row of its turn. */
  readonly row: TurnRecord
  /** When its next turn is due; null when there is none. */
  readonly dueAt: number | null
}

export function recoverMember(
  member: InterruptedMember,
  { settings, mostRecoveries }: RescueRequest,
  now: number,
): RecoveredMember {
  const { by, record, turn, turns, node, startedAt, cancel, spec, hasBegun } = member
  const { end, reason, error, delayMs } = recover({
    ...{ by, startedAt, turns, mostRecoveries },
    cancel: cancel ? cancel.reason : undefined,
    settings: cascade(settings, spec?.defaults, spec?.settings, record.settings),
    source: record.source,
    delayMs: record.scheduledAt - record.createdAt,
  })
  const nextDue = end === 'released' && !hasBegun ? member.dueAt : now + (delayMs ?? 0)
  return {
    answer: { id: record.id, job: record.job, turn, outcome: end },
    row: { turn, ...bareEnd(end, now, { node, startedAt, reason, error }) },
    dueAt: delayMs === null ? null : nextDue,
  }
}

export function recover(turn: InterruptedTurn): Recovery {
  const { by, startedAt, cancel, turns } = turn
  if (cancel !== undefined) return { end: 'canceled', reason: cancel, error: null, delayMs: null }
  // A timer only publishes. It does not take its node down, and is never buried for the losses of its node.
  if (by === 'lost' && turn.source === 'timer') return { end: 'released', reason: null, error: null, delayMs: 0 }
  const before = recoveries(turns)
  // From its first recovery on an occurrence's start is recorded before its handler runs: without it, it is not to blame.
  if (by === 'lost' && before > 0 && startedAt === null) return { end: 'released', reason: null, error: null, delayMs: 0 }
  const delayMs = by === 'lost' ? recoveryDelay(turn, before) : staleDelay(turn)
  if (delayMs !== null) return { end: by, reason: null, error: null, delayMs }
  const isDead = by === 'lost' || goesToDeadLetters(turn.settings, turn.source)
  return { end: isDead ? 'dead' : 'failed', reason: by, error: finalError(turn, before), delayMs: null }
}

/** A lost turn costs no retry: it waits the backoff of the job, whatever its retries. */
function recoveryDelay({ settings: { retry }, delayMs, mostRecoveries }: InterruptedTurn, before: number): number | null {
  if (before >= mostRecoveries) return null
  return backoff({ ...retry, max: mostRecoveries }, before + 1, delayMs)
}

/** A stale turn is a failed attempt. It counts as a recovery too, since it may have taken its node along. */
function staleDelay({ settings: { retry }, delayMs, turns, mostRecoveries }: InterruptedTurn): number | null {
  const failures = 1 + turns.filter(({ end }) => end === 'stale' || end === 'parked').length
  return recoveries(turns) >= mostRecoveries ? null : backoff(retry, failures, delayMs)
}

function backoff(retry: Settings['retry'], failures: number, delayMs: number): number | null {
  // A custom function lives in code that the rescuer may lack: exponential waits stand in for it.
  const policy = retry.strategy === 'custom' ? { ...retry, strategy: 'exponential' as const } : retry
  return retryDelay(policy, { failures, error: null, delayMs, random: 0 })
}

function finalError({ by, mostRecoveries }: InterruptedTurn, before: number): Recovery['error'] {
  const times = before === 1 ? '1 recovery' : `${before} recoveries`
  const late = before < mostRecoveries ? 'Past its deadline, without retries left' : `Past its deadline after ${times}`
  return { message: by === 'lost' ? `Lost with its node after ${times}` : late, code: `occurrence.${by}` }
}
