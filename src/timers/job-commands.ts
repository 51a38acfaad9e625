import { createHash } from 'node:crypto'
import type { Broker, Delivery } from '../broker/broker.ts'
import { checkChannel } from '../broker/check.ts'
import { type BuiltIn, builtIn } from '../client/built-in.ts'
import type { CancelOptions } from '../client/commands.ts'
import type { Punctual } from '../client/punctual.ts'
import { PunctualError, shown } from '../errors.ts'
import { defineJob } from '../model/definition.ts'
import { checkName, checkOptions, checkWhole } from '../model/limits.ts'
import { Poison, type Unwrapped } from './command.ts'
import { CommandIntake } from './command-intake.ts'
import { KeyOrder } from './key-order.ts'
import { PoisonBook } from './poison-job.ts'

/** The options of `createJobCommands`. */
export interface JobCommandsOptions {
  punctual: Punctual
  broker: Broker
  /** The queue of commands. Default `jobs.commands`. */
  commands?: string
  /** The jobs that may be enqueued and canceled. Default: all but the built-in ones. */
  jobs?: readonly string[]
  /** Commands that are handled at once. Default 500. */
  maxInFlight?: number
}

/** The consumer of `EnqueueJob` and `CancelJob`, made by `createJobCommands`. */
export interface JobCommandIntake {
  /** Why no commands arrive at present; null while they do. */
  readonly down: string | null
  /** Commands since the start: those that arrived, those that were terminated, and those put back since the store did not answer. */
  readonly metrics: { readonly commandsReceived: number; readonly poison: number; readonly commandsRetried: number }
  /** Starts consuming. Returns at once; without a broker it waits for one. */
  start(): void
  stop(): Promise<void>
}

const enqueueFields = [
  'type',
  'tenantId',
  'job',
  'payload',
  'key',
  'idempotencyKey',
  'delay',
  'runAt',
  'priority',
  'onConflict',
  'version',
  'correlationId',
]
const cancelFields = ['type', 'tenantId', 'job', 'key', 'idempotencyKey', 'reason', 'version', 'correlationId']

/**
 * Lets other systems enqueue and cancel work through a broker: `EnqueueJob { tenantId?, job, payload?, key?, idempotencyKey?, delay?, runAt? … }`
 * and `CancelJob { tenantId?, job, key | idempotencyKey }`. A command is acknowledged after the store's commit.
 * @example createJobCommands({ punctual, broker, jobs: ['invoice'] }).start()
 */
export function createJobCommands(options: JobCommandsOptions): JobCommandIntake {
  checkOptions(options, ['punctual', 'broker', 'commands', 'jobs', 'maxInFlight'], 'createJobCommands')
  const { punctual, broker, commands = 'jobs.commands', jobs = null, maxInFlight = 500 } = options
  const channel = { name: commands, kind: 'queue' as const }
  checkChannel(channel, 'commands')
  const { clock, log }: BuiltIn = builtIn(punctual, defineJob('punctual/commands'), { canRun: false })
  const order = new KeyOrder()
  const counters = { received: 0, poison: 0, retried: 0 }
  const intake = new CommandIntake({
    broker,
    channel,
    group: 'jobs',
    maxInFlight: checkWhole(maxInFlight, 'maxInFlight', 1, 10_000),
    defaultType: 'EnqueueJob',
    clock,
    log,
    poison: new PoisonBook(punctual),
    // A cancel that comes right after its work must not overtake it on the way to the store.
    carryOut: (command, delivery) => order.run(keyOf(command, delivery), () => carryOut(punctual, jobs, command, delivery)),
    onCritical: () => {},
    counters,
  })
  return {
    get down() {
      return intake.down
    },
    get metrics() {
      const { received, poison, retried } = counters
      return { commandsReceived: received, poison, commandsRetried: retried }
    },
    start: () => intake.start(),
    stop: () => intake.stop(),
  }
}

/** The work that a command is about; a command without a key is about its own. */
function keyOf({ fields: { tenantId, job, key, idempotencyKey } }: Unwrapped, { id }: Delivery): string {
  return JSON.stringify([tenantId, job, key, idempotencyKey ?? (key === undefined ? id : null)])
}

async function carryOut(
  punctual: Punctual,
  jobs: readonly string[] | null,
  { type, fields }: Unwrapped,
  { id }: Delivery,
): Promise<void> {
  try {
    checkOptions(fields, type === 'CancelJob' ? cancelFields : enqueueFields, type)
    const job = checkName(fields.job, 'job')
    if (jobs ? !jobs.includes(job) : job.startsWith('punctual/'))
      throw new Poison(`Job ${shown(job)} may not be used by commands`)
    if (type === 'EnqueueJob') await enqueue(punctual, job, fields, id)
    else if (type === 'CancelJob') await cancel(punctual, job, fields)
    else throw new Poison(`type must be EnqueueJob or CancelJob; got ${shown(type)}`)
  } catch (error) {
    throw isPermanent(error) ? new Poison(error.message) : error
  }
}

/** A command without a key has the id of its message, so one that comes again creates nothing more. */
async function enqueue(punctual: Punctual, job: string, fields: Unwrapped['fields'], id: string | null): Promise<void> {
  const { tenantId: tenant, type: _, job: __, payload, version: keyVersion, correlationId, ...rest } = fields
  const hasKey = rest.key !== undefined || rest.idempotencyKey !== undefined
  const options = {
    ...rest,
    ...(tenant !== undefined && { tenant }),
    ...(keyVersion !== undefined && { keyVersion }),
    ...(correlationId !== undefined && { refs: { correlation: correlationId } }),
    ...(!hasKey && id !== null && { idempotencyKey: messageKey(id) }),
  }
  await punctual.enqueue(job, payload, options as never)
}

/** Other senders have ids of any length and character. */
function messageKey(id: string): string {
  return /^[!-~]{1,190}$/.test(id) ? `message ${id}` : `message sha256 ${createHash('sha256').update(id).digest('hex')}`
}

async function cancel(
  punctual: Punctual,
  job: string,
  { tenantId, key, idempotencyKey, reason, version }: Unwrapped['fields'],
): Promise<void> {
  const target = {
    job,
    ...(tenantId !== undefined && { tenant: tenantId }),
    ...(key === undefined ? { idempotencyKey } : { key }),
  }
  const options = { ...(reason !== undefined && { reason }), ...(version !== undefined && { keyVersion: version }) }
  await punctual.cancel(target as never, options as CancelOptions)
}

/** Whether the same call would fail later too: its input is invalid, and the store is not the reason. */
function isPermanent(error: unknown): error is PunctualError {
  return error instanceof PunctualError && !/^(store|punctual|claim)\./.test(error.code)
}
