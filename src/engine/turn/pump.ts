// The tasks of a turn: what may start is started, what has ended is taken in, until all have finished or none can go on.
import type { AuditEvent } from '../../store/store.ts'
import { applyAttempt } from './apply-attempt.ts'
import { Attempt } from './attempt.ts'
import { finish, refuse } from './ending.ts'
import { taskEvent } from './report.ts'
import type { TaskRun } from './task-run.ts'
import type { Turn } from './turn.ts'

/** @param mono Now, by the monotonic clock. */
export function begin(turn: Turn, mono: number): void {
  const { env, runs, settings } = turn
  const { executionTimeoutMs } = settings
  if (runs.length > 1)
    turn.cancelDeadline = env.clock.timer(executionTimeoutMs, () => turn.abort('timeout', `execution, ${executionTimeoutMs} ms`))
  if (turn.n > 1) makeRetryDue(turn, env.time.at(mono))
  turn.isPumped = true
  pump(turn, mono)
}

/** The occurrence came due, and so did its earliest retry: a person may have moved it, and this node's time is an estimate. */
function makeRetryDue({ runs }: Turn, now: number): void {
  if (runs.some((run) => mayStart(run, runs))) return
  const [first] = runs.filter((run) => run.phase === 'retrying').sort((a, b) => a.retryAt - b.retryAt)
  if (first) first.retryAt = Math.min(first.retryAt, now)
}

/** Starts what may start, and notes what is left: the turn waits while a task is active, and concludes otherwise. */
export function pump(turn: Turn, mono = turn.env.clock.mono()): void {
  if (turn.isOver) return
  if (turn.stop?.reason === 'lost') return finish(turn, 'abandoned')
  turn.cancelRetry?.()
  const { runs, env } = turn
  const fatal = runs.find((run) => run.isFatal)
  let moment = mono
  let isActive = false
  let canGoOn = false
  let retryAt = Number.POSITIVE_INFINITY
  for (const run of runs) {
    if (fatal) cancelFor(fatal, run)
    if (isStartable(run, runs, env.time.at(moment))) {
      if (turn.stop) canGoOn ||= run.phase === 'waiting'
      else {
        start(turn, run, moment)
        // The handler may have taken its time.
        moment = env.clock.mono()
      }
    }
    isActive ||= run.isActive
    if (run.phase === 'retrying') retryAt = Math.min(retryAt, run.retryAt)
  }
  if (!isActive) conclude(turn, canGoOn, retryAt)
  // While others run, a retry that comes due runs in the same turn.
  else if (retryAt < Number.POSITIVE_INFINITY && !turn.stop)
    turn.cancelRetry = env.clock.timer(Math.max(1, retryAt - env.time.now()), () => pump(turn))
}

function isStartable(run: TaskRun, runs: readonly TaskRun[], now: number): boolean {
  if (run.phase === 'retrying') return run.retryAt <= now
  if (run.phase !== 'waiting') return false
  const { blocker } = run
  if (blocker) run.cancel(blocker.canceledBy ?? blocker.name)
  return mayStart(run, runs)
}

/** Whether a task that waits may start. One that was interrupted in a retry may: it holds others back, and none holds it. */
function mayStart(run: TaskRun, runs: readonly TaskRun[]): boolean {
  if (run.phase !== 'waiting' || run.after.some((before) => !before.isFinished)) return false
  return run.failures > 0 || !runs.some((other) => other.holdsOthers)
}

function start(turn: Turn, run: TaskRun, mono: number): void {
  const { events } = turn.env
  if (turn.onlyAttempt) turn.attempts = [run.attemptRecord(turn.onlyAttempt)]
  turn.onlyAttempt = null
  run.phase = 'running'
  run.attempts += 1
  run.attempt = new Attempt(turn, run, mono)
  if (events.has('task.started')) events.emit('task.started', taskEvent(turn, run))
  run.attempt.start()
}

/** Takes in the end of an attempt: what it means for its task, and its record. The turn goes on once the store has it. */
export function takeIn(turn: Turn, attempt: Attempt): void {
  const { run } = attempt
  const { clock, time } = turn.env
  run.attempt = null
  if (turn.isOver || turn.stop?.reason === 'lost') return
  const mono = clock.mono()
  attempt.endedAt = time.at(mono)
  run.durationMs += attempt.endedAt - attempt.startedAt
  const state = applyAttempt(turn, attempt)
  if (state === null) return giveBack(turn, run, mono)
  attempt.state = state
  const isOnlyTask = turn.runs.length === 1
  const isNews = attempt.events.length > 0
  if (isOnlyTask && turn.attempts.length === 0 && !run.isCommitted && !isNews) turn.onlyAttempt = attempt
  else if (run.isCommitted) turn.saved = [...turn.saved, run.attemptRecord(attempt)]
  else turn.attempts = [...turn.attempts, run.attemptRecord(attempt)]
  if (run.isFatal) for (const other of turn.runs) cancelFor(run, other)
  // The last attempts of a turn are written with its end.
  const isWithEnd = isOnlyTask || turn.attempts.length === 0 || turn.runs.every((other) => other.isFinished)
  if (isWithEnd && !isNews) pump(turn, mono)
  else save(turn, run, attempt.events).catch((error: unknown) => refuse(turn, error))
}

/** Ends the turn as if the attempt had not been: work that has not begun before keeps its place. */
function giveBack(turn: Turn, run: TaskRun, mono: number): void {
  run.phase = 'waiting'
  run.attempts -= 1
  run.durationMs = 0
  turn.stop ??= { reason: 'shutdown', detail: null }
  if (turn.runs.every(({ attempts }) => attempts === 0)) turn.startedAt = null
  pump(turn, mono)
}

/** The end of one task ends another, unless that one is set to go on regardless. */
function cancelFor(failed: TaskRun, run: TaskRun): void {
  if (run === failed || run.isFinished || !run.isVital) return
  if (run.attempt) {
    run.canceledBy = failed.name
    run.attempt.abort('peer-failed', failed.name)
  } else if (run.phase !== 'saving') run.cancel(failed.name)
}

async function save(turn: Turn, run: TaskRun, events: readonly AuditEvent[]): Promise<void> {
  const { phase } = run
  const { attempts } = turn
  turn.attempts = []
  turn.saved = [...turn.saved, ...attempts]
  run.phase = 'saving'
  const answer = await turn.checkpoint({ attempts, ...(events.length > 0 && { events }) })
  if (turn.isOver) return
  run.phase = phase
  if (answer === 'lost') finish(turn, 'abandoned')
  else pump(turn)
}

/** No task is active any more. */
function conclude(turn: Turn, canGoOn: boolean, retryAt: number): void {
  const { runs } = turn
  const failed = runs.find((run) => run.isFatal) ?? runs.find((run) => run.phase === 'retrying')
  if (turn.stop?.reason === 'cancel') return finish(turn, 'canceled')
  if (runs.every((run) => run.isFinished && !run.isFatal)) return finish(turn, 'completed')
  turn.error = failed?.error ?? null
  if (runs.every((run) => run.isFinished)) return finish(turn, 'failed')
  // A task that was kept from starting needs no wait, and those that wait for a retry have theirs in their attempts.
  if (canGoOn) return finish(turn, 'released')
  turn.delayMs = Math.max(0, retryAt - turn.env.time.now())
  finish(turn, 'parked')
}
