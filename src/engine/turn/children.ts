import { PunctualError } from '../../errors.ts'
import type { Child, ChildCancelOptions, ChildOptions, ChildTarget, JobReference } from '../../model/child.ts'
import { childId, taskRunId } from '../../model/ids.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { CancelRequest, ChildWork, CreatedRow, NewOccurrence } from '../../store/store.ts'
import { Aborted } from './aborted.ts'
import type { Attempt } from './attempt.ts'

/** The part of the client that handlers use. */
export interface WorkPort {
  /** The new row, checked, with a random id. A promise only where the schema of the payload is asynchronous. */
  prepare(
    parent: OccurrenceRecord,
    job: JobReference,
    payload: unknown,
    options: ChildOptions,
  ): NewOccurrence | Promise<NewOccurrence>
  create(row: NewOccurrence): Promise<CreatedRow>
  request(parent: OccurrenceRecord, target: ChildTarget, options: ChildCancelOptions): CancelRequest
  cancel(request: CancelRequest): Promise<'canceled' | 'canceling' | 'ended' | 'unknown'>
  /** Announces changes that a transaction has committed. */
  committed(changes: ChildWork): Promise<void>
}

/**
 * The work that one attempt creates and cancels. An attempt that repeats the calls of an earlier one of the same task finds its
 * children: their ids follow from the task run, the job and the key, or else the payload and how often it was given before.
 */
export class Children {
  readonly #attempt: Attempt
  #given = new Map<string, number>()
  #open: Collected | null = null

  constructor(attempt: Attempt) {
    this.#attempt = attempt
  }

  /** Inside a transaction every failure also fails the transaction: synchronous work cannot await this promise. */
  enqueue(job: JobReference, payload: unknown, options: ChildOptions = {}): Promise<Child> {
    const open = this.#open
    try {
      const prepared = this.#port.prepare(this.#record, job, payload, options)
      if (!open) return this.#create(prepared)
      if (!isPromise(prepared)) return Promise.resolve(deferred(open.create(this.#identified(prepared))))
      return open.wait(prepared.then((row) => deferred(open.create(this.#identified(row)))))
    } catch (error) {
      return refused(error, open)
    }
  }

  cancel(
    target: ChildTarget,
    options: ChildCancelOptions = {},
  ): Promise<'canceled' | 'canceling' | 'ended' | 'unknown' | 'deferred'> {
    const open = this.#open
    try {
      const request = this.#port.request(this.#record, target, options)
      if (!open) return this.#port.cancel(request)
      open.cancels.push(request)
      return Promise.resolve('deferred')
    } catch (error) {
      return refused(error, open)
    }
  }

  /** Calls from now on are collected, until `end`. Work that was undone before begins anew. */
  begin(): Collected {
    const before = new Map(this.#given)
    const open = new Collected(() => {
      this.#given = new Map(before)
    })
    this.#open = open
    return open
  }

  end(): void {
    this.#open = null
  }

  get #record(): OccurrenceRecord {
    return this.#attempt.turn.record
  }

  /** A handler that was signaled to stop, or has ended, creates nothing more. */
  get #port(): WorkPort {
    const { signal, turn, isCurrent } = this.#attempt
    if (!isCurrent) throw signal.aborted ? signal.reason : new Aborted('lost')
    if (signal.aborted && signal.reason.code !== 'shutdown') throw signal.reason
    return turn.env.work.port as WorkPort
  }

  async #create(prepared: NewOccurrence | Promise<NewOccurrence>): Promise<Child> {
    const row = this.#identified(isPromise(prepared) ? await prepared : prepared)
    const { claim, member } = this.#attempt.turn
    const { id, outcome, state, differs } = await this.#port.create({ ...row, maker: { claim, member } })
    if (outcome === 'refused') return this.#attempt.stopped()
    return { id, outcome, state, payloadDiffers: differs }
  }

  #identified(row: NewOccurrence): NewOccurrence {
    // An idempotency key has its own id.
    if (row.key !== null && row.unique === 'ever') return row
    const run = taskRunId(this.#record.id, this.#attempt.run.name)
    if (row.key !== null) return { ...row, id: childId(run, row.job, ['key', row.key]) }
    const call = JSON.stringify([row.job, row.payload])
    const n = (this.#given.get(call) ?? 0) + 1
    this.#given.set(call, n)
    return { ...row, id: childId(run, row.job, ['payload', row.payload ?? '', n]) }
  }
}

/** The changes that a transaction commits with its task. */
export class Collected implements ChildWork {
  creates: NewOccurrence[] = []
  cancels: CancelRequest[] = []
  readonly #reset: () => void
  #waiting: Promise<unknown>[] = []
  #failure: { readonly error: unknown } | null = null

  constructor(reset: () => void) {
    this.#reset = reset
  }

  /** The work begins, perhaps once more. */
  restart(): void {
    this.creates = []
    this.cancels = []
    this.#waiting = []
    this.#failure = null
    this.#reset()
  }

  create(row: NewOccurrence): NewOccurrence {
    this.creates.push(row)
    return row
  }

  wait<Value>(value: Promise<Value>): Promise<Value> {
    value.catch((error: unknown) => this.fail(error))
    this.#waiting.push(value)
    return value
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
  }

  /** Throws where a call has failed, or in synchronous work has not ended. */
  check(): void {
    if (this.#failure) throw this.#failure.error
    if (this.#waiting.length > 0)
      throw new PunctualError(
        'transaction.invalid',
        'A payload with an asynchronous schema cannot be checked inside a synchronous transaction; enqueue it outside of ctx.transaction',
      )
  }

  /** The same for work that may wait. */
  async ended(): Promise<void> {
    await Promise.all(this.#waiting.splice(0))
    this.check()
  }
}

function deferred({ id }: NewOccurrence): Child {
  return { id, outcome: 'deferred', state: null, payloadDiffers: false }
}

/** Outside of a transaction the caller sees the rejection; inside of one the transaction fails, too. */
function refused(error: unknown, open: Collected | null): Promise<never> {
  const rejected = Promise.reject(error)
  open?.fail(error)
  if (open) rejected.catch(() => {})
  return rejected
}

function isPromise<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return value instanceof Promise
}
