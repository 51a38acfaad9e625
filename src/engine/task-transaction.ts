import { PunctualError } from '../errors.ts'
import type { AttemptRecord } from '../model/occurrence.ts'
import { encodeResult } from '../model/payload.ts'
import { Aborted } from './aborted.ts'
import type { Execution } from './execution.ts'
import type { TaskRun } from './task-run.ts'

/** Commits the writes of a handler together with the success of its task. */
export async function transaction<Tx, Value>(
  execution: Execution,
  run: TaskRun,
  startedAt: number,
  work: (tx: Tx) => Value,
): Promise<Value> {
  const { env, member } = execution
  checkUse(execution, run)
  let value!: Value
  const attempt: AttemptRecord = {
    turn: member.turn,
    task: run.name,
    n: run.attempts,
    state: 'succeeded',
    startedAt,
    endedAt: env.time.now(),
    result: null,
    error: null,
    retryAt: null,
  }
  const committed = execution.commit(attempt, (tx) => {
    value = work(tx as Tx)
    run.result = encodeResult(value)
    return run.result
  })
  run.committing = committed.then(
    (answer) => {
      run.isCommitted = answer === 'ok'
    },
    () => {},
  )
  try {
    if ((await committed) !== 'ok') throw new Aborted('lost')
    return value
  } finally {
    run.committing = null
  }
}

function checkUse({ env: { store } }: Execution, run: TaskRun): void {
  if (!store.abilities.has('tx'))
    throw new PunctualError(
      'transaction.unsupported',
      `The ${store.name} store has no transactions to share; use a store with the ability tx, such as sqlite`,
      { store: store.name },
    )
  if (run.isCommitted || run.committing)
    throw new PunctualError(
      'transaction.invalid',
      'ctx.transaction was used before in this attempt; it ends the task and can be used once',
      { task: run.name },
    )
}
