import { PunctualError } from '../../errors.ts'
import type { AttemptRecord } from '../../model/occurrence.ts'
import { decodePayload, encodeResult } from '../../model/payload.ts'
import { Aborted } from './aborted.ts'
import type { Attempt } from './attempt.ts'
import type { TaskRun } from './task-run.ts'
import type { Turn } from './turn.ts'

/** Commits the writes of a handler together with the success of its task. */
export async function transaction<Tx, Value>(current: Attempt, work: (tx: Tx) => Value | Promise<Value>): Promise<Value> {
  const { turn, run, n, startedAt, events, children } = current
  const { env } = turn
  checkUse(turn, run)
  const attempt = {
    turn: turn.n,
    task: run.name,
    n,
    state: 'succeeded' as const,
    startedAt,
    endedAt: env.time.now(),
    result: null,
    error: null,
    retryAt: null,
  } satisfies AttemptRecord
  let value!: Value
  // Events of work that is undone are undone with it.
  const before = events.length
  const take = (given: Value): string | null => {
    value = given
    // Read by the store once the work is done.
    attempt.endedAt = env.time.now()
    run.result = encodeResult(given)
    return run.result
  }
  const changes = children.begin()
  const committed = turn.commit(attempt, {
    events,
    within: (tx) => {
      events.length = before
      changes.restart()
      const given = work(tx as Tx)
      if (isPromise(given)) return whileWanted(run, given).then((value) => changes.ended().then(() => take(value)))
      changes.check()
      return take(given)
    },
    changes: () => changes,
    recorded: (result) => {
      run.result = result
      value = decodePayload(result) as Value
    },
  })
  run.committing = committed.then(
    (answer) => {
      run.isCommitted = answer === 'ok'
    },
    () => {},
  )
  try {
    const answer = await committed
    if (answer === 'refused') await current.stopped()
    if (answer !== 'ok') throw new Aborted('lost')
    events.length = 0
    await env.work.port?.committed(changes)
    return value
  } catch (error) {
    events.length = Math.min(events.length, before)
    throw error
  } finally {
    children.end()
    run.committing = null
  }
}

/** Rejects as soon as nothing that the handler still does can count: its transaction would stay open for as long as it likes. */
function whileWanted<Value>(run: TaskRun, given: Promise<Value>): Promise<Value> {
  const signal = run.attempt?.signal
  if (!signal) return given
  return new Promise((resolve, reject) => {
    const look = () => {
      // Work that is finished while the process stops does count.
      if (signal.aborted && signal.reason.code !== 'shutdown') reject(signal.reason)
    }
    signal.addEventListener('abort', look)
    given.then(resolve, reject).finally(() => signal.removeEventListener('abort', look))
    look()
  })
}

function checkUse({ env: { store } }: Turn, run: TaskRun): void {
  if (!store.abilities.has('tx'))
    throw new PunctualError(
      'transaction.unsupported',
      `The ${store.name} store has no transactions to share; use a store with the ability tx, such as sqlite or postgres`,
      { store: store.name },
    )
  if (run.isCommitted || run.committing)
    throw new PunctualError(
      'transaction.invalid',
      'ctx.transaction was used before in this attempt; it ends the task and can be used once',
      { task: run.name },
    )
}

function isPromise<Value>(given: Value | Promise<Value>): given is Promise<Value> {
  return typeof (given as { then?: unknown } | null | undefined)?.then === 'function'
}
