// The end of a turn: hooks, the end row, and what is announced once the store has it.

import { goesToDeadLetters } from '../../model/dead-letter.ts'
import { errorText } from '../../model/error-record.ts'
import type { TurnEnd } from '../../model/lifecycle.ts'
import type { WriteAnswer } from '../../store/store.ts'
import { pauseAfterFailures } from '../auto-pause.ts'
import { announceEnd } from './announce.ts'
import { runTurnHook } from './hooks.ts'
import { reportOf } from './report.ts'
import type { Turn, TurnResult } from './turn.ts'
import { announceUnattendedEnd } from './unattended-end.ts'

/** Ends a turn none of whose tasks is active. */
export function finish(turn: Turn, end: TurnResult): void {
  const { host, env, shared, settings, record } = turn
  close(turn)
  turn.endedAt = env.time.now()
  if (end === 'canceled') for (const run of turn.runs) if (!run.isFinished) run.cancel(null)
  try {
    // The slot goes to the next turn, whatever may be wrong with that one.
    host.handlersEnded()
    const result = end === 'failed' && goesToDeadLetters(settings, record.source) ? 'dead' : end
    const isCompleted = shared.runnable.definition.options.onComplete !== undefined && !goesOn(result)
    if (result === 'abandoned') conclude(turn, result)
    else if (isCompleted || turn.progressing) finishUp(turn, result).catch((error: unknown) => turn.refused(error))
    else settle(turn, result)
  } catch (error) {
    turn.refused(error)
  }
}

/** The store refuses to record what was done, and not because it is away: nothing that follows could be recorded either. */
export function refuse(turn: Turn, error: unknown): void {
  if (turn.isOver) return
  close(turn)
  turn.host.handlersEnded()
  turn.refused(error)
  for (const run of turn.runs) run.attempt?.abort('lost')
}

function close(turn: Turn): void {
  turn.isOver = true
  turn.cancelRetry?.()
  turn.cancelDeadline?.()
}

/** Runs `onComplete`, and lets the newest progress reach the store, before the end does. */
async function finishUp(turn: Turn, end: TurnEnd): Promise<void> {
  const { onComplete } = turn.shared.runnable.definition.options
  if (onComplete && !goesOn(end)) await runTurnHook(turn, 'onComplete', () => onComplete(reportOf(turn, end)))
  await turn.progressing
  settle(turn, end)
}

/** Writes the end row. A turn that the store refuses was ended by another, and is dropped. */
export function settle(turn: Turn, end: TurnEnd): void {
  const { runs, startedAt, endedAt, error, onlyAttempt, shared } = turn
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

/** Whether the end of this turn may bring about more in the store. */
function hasSequel({ shared, settings }: Turn, result: TurnResult): boolean {
  if (goesOn(result)) return shared.runnable.definition.options.onComplete !== undefined
  return (result === 'failed' || result === 'dead') && settings.autoPause !== null
}

async function concludeWithSequel(turn: Turn, result: TurnResult): Promise<void> {
  if (goesOn(result) && (await wasCanceled(turn))) return turn.host.turnEnded(turn, 'canceled')
  announceEnd(turn, result)
  if (!goesOn(result)) await pauseAfterFailures(turn)
  turn.host.turnEnded(turn, result)
}

/** Whether work that was to go on has ended, since a cancel came in meanwhile; if so, that is announced. */
async function wasCanceled(turn: Turn): Promise<boolean> {
  return announceUnattendedEnd(turn.env, { id: turn.record.id }).catch((error: unknown) => {
    turn.log.warn('It could not be read whether a cancel came in between', { error: errorText(error) })
    return false
  })
}

function goesOn(result: TurnResult): boolean {
  return result === 'parked' || result === 'released'
}
