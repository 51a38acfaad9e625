import type { Broker } from '../broker/broker.ts'
import { checkChannel } from '../broker/check.ts'
import { type BuiltIn, builtIn } from '../client/built-in.ts'
import type { Punctual } from '../client/punctual.ts'
import { type TimersOverview, timerJob, timersOverview, timersPart } from '../client/timers-overview.ts'
import { PunctualError } from '../errors.ts'
import type { Context } from '../model/context.ts'
import { defineJob } from '../model/definition.ts'
import { checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { Untried } from '../model/untried.ts'
import { Outlet } from '../outbound/outlet.ts'
import { type CancelTimer, type ScheduleTimer, timerCommand, type Unwrapped } from './command.ts'
import { CommandIntake } from './command-intake.ts'
import { dueTimeReached, type EnvelopeFormat } from './envelope.ts'
import { HealthWatch, type TimersHealth } from './health-watch.ts'
import { KeyOrder } from './key-order.ts'
import { TimerCounters, type TimerMetrics } from './metrics.ts'
import { PoisonBook } from './poison-job.ts'
import { answerWhen, type TimerPayload, type TimerView, timerView } from './timer-view.ts'

/** The options of `createTimers`. */
export interface TimersOptions {
  punctual: Punctual
  broker: Broker
  /** The queue of commands. Default `timers.commands`. */
  commands?: string
  /** The topic of events. Default `timers.events`. */
  events?: string
  /** How events are wrapped. Default `plain`. */
  envelope?: EnvelopeFormat
  /** `commands` only stores timers, `firing` only fires them. Default `both`. */
  side?: 'both' | 'commands' | 'firing'
  /** Commands that are handled at once. Default 500. */
  maxInFlight?: number
  /** Called with errors that waiting does not mend, such as refused credentials. The service goes on trying. */
  onCritical?: (error: PunctualError) => void
}

const optionNames = ['punctual', 'broker', 'commands', 'events', 'envelope', 'side', 'maxInFlight', 'onCritical'] as const

/**
 * Durable timers behind a broker: consumes `ScheduleTimer` and `CancelTimer`, and publishes `DueTimeReached` at the due instant, at least
 * once. Timers are occurrences of `punctual/timer` in the scheduler's store; the broker keeps none of them.
 * @example const timers = createTimers({ punctual, broker: nats() }); await punctual.start(); timers.start()
 */
export function createTimers(options: TimersOptions): Timers {
  return new Timers(options)
}

/** A timer service, made by `createTimers`. */
export class Timers {
  readonly #punctual: Punctual
  readonly #options: Required<Pick<TimersOptions, 'events' | 'envelope' | 'side'>>
  readonly #job: BuiltIn
  readonly #outlet: Outlet
  readonly #intake: CommandIntake
  readonly #counters = new TimerCounters()
  readonly #order = new KeyOrder()
  readonly #health: HealthWatch
  #endPollWatch: () => void = () => {}

  constructor(options: TimersOptions) {
    checkOptions(options, optionNames, 'createTimers')
    const { punctual, broker, commands = 'timers.commands', events = 'timers.events', onCritical = () => {} } = options
    checkChannel({ name: commands, kind: 'queue' }, 'commands')
    checkChannel({ name: events, kind: 'topic' }, 'events')
    const envelope = checkOneOf<EnvelopeFormat>(options.envelope ?? 'plain', 'envelope', ['plain', 'cloudevents'])
    const side = checkOneOf<'both' | 'commands' | 'firing'>(options.side ?? 'both', 'side', ['both', 'commands', 'firing'])
    this.#punctual = punctual
    this.#options = { events, envelope, side }
    this.#outlet = new Outlet(broker, () => this.#job, {
      // A right to publish that is missing is missing for all timers: they wait, and `onCritical` is called.
      closesOn: ['unreachable', 'unroutable', 'full', 'refused'],
      onClosed: (reason, message) => {
        if (reason !== 'refused') return
        onCritical(
          new PunctualError('broker.refused', `The broker takes no events on ${events}: ${message}`, { channel: events }),
        )
      },
    })
    const definition = defineJob<TimerPayload>(timerJob, { timeout: '1m' }, (ctx) => this.#fire(ctx))
    this.#job = builtIn(punctual, definition, { source: 'timer', canRun: side !== 'commands' })
    this.#intake = new CommandIntake({
      broker,
      channel: { name: commands, kind: 'queue' },
      group: 'timers',
      maxInFlight: checkWhole(options.maxInFlight ?? 500, 'maxInFlight', 1, 10_000),
      defaultType: 'ScheduleTimer',
      clock: this.#job.clock,
      log: this.#job.log,
      poison: new PoisonBook(punctual),
      carryOut: (command) => this.#carryOut(command),
      respond: () => broker.respond(`${commands}.when`, 'timers', (body) => answerWhen(punctual, body)),
      onCritical,
      counters: this.#counters,
    })
    this.#health = new HealthWatch({
      punctual,
      broker,
      ...(side !== 'firing' && { commandsDown: () => this.#intake.down }),
      ...(side !== 'commands' && { firingDown: () => this.#outlet.away?.reason ?? null }),
      onCritical,
    })
  }

  /** Starts consuming commands, where this side runs here. Returns at once; without a broker it waits for one. Start the scheduler too: it fires. */
  start(): this {
    const { side } = this.#options
    void this.#health.ask()
    this.#job.report(timersPart, () => this.#health.report())
    if (side !== 'firing') this.#intake.start()
    if (side !== 'commands') {
      this.#counters.lastPollAt = this.#job.clock.wall()
      this.#endPollWatch = this.#punctual.onStoreCall(({ verb, durationMs, error }) => {
        if ((verb !== 'peek' && verb !== 'claim') || error !== null) return
        this.#counters.polling.add(durationMs)
        this.#counters.lastPollAt = this.#job.clock.wall()
      })
    }
    return this
  }

  /** Takes no further command, and ends those under way. Stop the scheduler and close the broker yourself. */
  async stop(): Promise<void> {
    this.#endPollWatch()
    this.#job.report(timersPart, null)
    this.#outlet.stop()
    if (this.#options.side !== 'firing') await this.#intake.stop()
  }

  /** A timer; null when there is none, or its record was removed by retention. */
  when(tenantId: string, serviceCallId: string): Promise<TimerView | null> {
    return timerView(this.#punctual, tenantId, serviceCallId)
  }

  /** Whether each side does its work. */
  health(): Promise<TimersHealth> {
    return this.#health.now()
  }

  /** The numbers since the start, for an exporter. */
  get metrics(): TimerMetrics {
    return this.#counters.view()
  }

  /** Timers by state and the newest poison, from the store. */
  async overview(): Promise<TimersOverview> {
    return timersOverview(this.#punctual)
  }

  async #carryOut(command: Unwrapped): Promise<void> {
    const timer = timerCommand(command)
    // A cancel that comes right after its timer must not overtake it on the way to the store.
    const outcome = await this.#order.run(`${timer.tenantId} ${timer.serviceCallId}`, () =>
      timer.type === 'ScheduleTimer' ? this.#schedule(timer) : this.#cancel(timer),
    )
    this.#counters.outcomes[outcome]++
  }

  async #schedule(timer: ScheduleTimer): Promise<'created' | 'moved' | 'ignored'> {
    const { correlationId, dueAt } = timer
    const { outcome } = await this.#put(timer, dueAt, correlationId)
    return outcome === 'created' || outcome === 'moved' ? outcome : 'ignored'
  }

  /** With a version the cancel is stored, too: a command that it has overtaken must not bring the timer back. */
  async #cancel(timer: CancelTimer): Promise<'canceled' | 'ignored'> {
    const { tenantId, serviceCallId, version } = timer
    if (version !== null) {
      const { state } = await this.#put(timer, farAway, null)
      if (state !== 'pending' && state !== 'waiting') return 'ignored'
    }
    const target = { tenant: tenantId, job: timerJob, idempotencyKey: serviceCallId }
    const options = { reason: 'CancelTimer', ...(version !== null && { keyVersion: version }) }
    return (await this.#punctual.cancel(target, options)) === 'canceled' ? 'canceled' : 'ignored'
  }

  #put({ tenantId, serviceCallId, version }: ScheduleTimer | CancelTimer, runAt: Date, correlationId: string | null) {
    const payload: TimerPayload = { registeredAt: this.#job.now(), ...(correlationId !== null && { correlationId }) }
    return this.#job.enqueue(payload, {
      tenant: tenantId,
      idempotencyKey: serviceCallId,
      runAt,
      onConflict: 'reschedule',
      ...(version !== null && { keyVersion: version }),
    })
  }

  async #fire(ctx: Context<TimerPayload>): Promise<void> {
    const dueAt = ctx.scheduledAt.getTime()
    const reachedAt = Math.max(dueAt, ctx.startedAt.getTime())
    const event = {
      id: ctx.occurrenceId,
      tenantId: ctx.tenant,
      serviceCallId: ctx.key as string,
      correlationId: ctx.payload.correlationId ?? null,
      dueAt,
      reachedAt,
    }
    const { events, envelope } = this.#options
    const message = { channel: { name: events, kind: 'topic' as const }, id: event.id, ...dueTimeReached(envelope, event) }
    try {
      const { isDuplicate } = await this.#outlet.send(message)
      this.#noteFired(ctx.payload, dueAt, isDuplicate)
    } catch (error) {
      if (!Untried.is(error)) this.#counters.refused++
      throw error
    }
  }

  #noteFired({ registeredAt }: TimerPayload, dueAt: number, isDuplicate: boolean): void {
    const now = this.#job.now()
    this.#counters.fired++
    if (isDuplicate) this.#counters.duplicates++
    this.#counters.lateness.add(now - dueAt)
    this.#counters.delay.add(now - registeredAt)
  }
}

/** A canceled timer's due time, for the moment between the two steps of a cancel with a version. */
const farAway = new Date(253_370_764_800_000)
