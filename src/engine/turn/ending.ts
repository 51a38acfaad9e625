// The end of a turn: the end row, and once the store has it the announcement, the hook and what else follows.

import { goesToDeadLetters } from '../../model/dead-letter.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { WriteAnswer } from '../../store/store.ts'
import { pauseAfterFailures } from '../auto-pause.ts'
import { announceEnd } from './announce.ts'
import { runTurnHook } from './hooks.ts'
import { reportOf } from './report.ts'
import type { Turn, TurnResult } from './turn.ts'

/** Ends a turn none of whose tasks is active. */
export function finish(turn: Turn, end: TurnResult): void {
  const { host, env, settings, record } = turn
  close(turn)
  turn.endedAt = env.time.now()
  if (end === 'canceled') for (const run of turn.runs) if (!run.isFinished) run.cancel(null)
  try {
    // The slot goes to the next turn, whatever may be wrong with that one.
    host.handlersEnded(end !== 'abandoned' && !turn.progressing)
    // Work with an effect of unknown outcome waits for a person, whatever the setting.
    const isDead = goesToDeadLetters(settings, record.source) || turn.error?.code === 'gate.held'
    const result = end === 'failed' && isDead ? 'dead' : end
    if (result === 'abandoned') conclude(turn, result)
    // The newest progress reaches the store before the end does.
    else if (turn.progressing) turn.progressing.then(() => settle(turn, result)).catch((error: unknown) => turn.refused(error))
    else settle(turn, result)
  } catch (error) {
    turn.refused(error)
  }
}

/** The store refuses to record what was done, and not because it is away: nothing that follows could be recorded either. */
export function refuse(turn: Turn, error: unknown): void {
  if (turn.isOver) return
  close(turn)
  turn.host.handlersEnded(false)
  turn.refused(error)
  for (const run of turn.runs) run.attempt?.abort('lost')
}

function close(turn: Turn): void {
  turn.isOver = true
  turn.endLogs()
  turn.cancelRetry?.()
  turn.cancelDeadline?.()
}

/** Writes the end row. A turn that the store refuses was ended by another, and is dropped. */
export function settle(turn: Turn, end: TurnEnd): void {
  const { runs, startedAt, endedAt, error, onlyAttempt, shared, settings, env } = turn
  const last = runs.at(-1)
  turn.end = {
    end,
    startedAt,
    endedAt,
    result: end === 'completed' && last?.phase === 'succeeded' ? last.result : null,
    error,
    attempt: onlyAttempt?.state ?? null,
    settings: shared.kept,
    tasks: runs.length > 1 ? runs.map((run) => run.report()) : null,
    reason: end === 'canceled' ? turn.cancelReason : null,
  }
  if (!goesOn(end)) turn.hookMs = settings.timeoutMs + env.options.ttlMs
  turn.host.recorder.settle(turn)
}

/** Takes in the store's answer to the end row. */
export function settled(turn: Turn, answer: WriteAnswer): void {
  const result = answer === 'ok' ? turn.end.end : 'abandoned'
  if (hasSequel(turn, result)) concludeWithSequel(turn, result).catch((error: unknown) => turn.refused(error))
  else conclude(turn, result)
}

function conclude(turn: Turn, result: TurnResult): void {
  announceEnd(turn, result)
  turn.host.turnEnded(turn, result)
}

function hasSequel(turn: Turn, result: TurnResult): boolean {
  return isHooked(turn, result) || (hasFailed(result) && turn.settings.autoPause !== null)
}

async function concludeWithSequel(turn: Turn, result: TurnResult): Promise<void> {
  announceEnd(turn, result)
  if (hasFailed(result)) await pauseAfterFailures(turn)
  if (isHooked(turn, result)) await complete(turn, result)
  turn.host.turnEnded(turn, result)
}

/** Runs `onComplete`. Should this node go down before that is noted, another one runs it. */
async function complete(turn: Turn, result: TurnEnd): Promise<void> {
  const { onComplete } = turn.shared.runnable.definition.options
  const hook = onComplete && runTurnHook(turn, 'onComplete', () => onComplete(reportOf(turn, result)))
  if ((await hook) !== 'lost' && turn.record.isHooked) await turn.host.recorder.hookDone(turn.member.ref)
}

function isHooked({ record, shared }: Turn, result: TurnResult): result is TurnEnd {
  if (goesOn(result) || result === 'abandoned') return false
  return record.isHooked || shared.runnable.definition.options.onComplete !== undefined
}

function hasFailed(result: TurnResult): boolean {
  return result === 'failed' || result === 'dead'
}

function goesOn(result: TurnResult): boolean {
  return result === 'parked' || result === 'released'
}
