import type { Env } from '../engine/env.ts'
import type { Bus } from '../engine/node/bus.ts'
import { Registry } from '../engine/node/registry.ts'
import { StoreTime } from '../engine/node/store-time.ts'
import { Figures } from '../engine/record/figures.ts'
import { JoinedClaims } from '../engine/record/joined-claims.ts'
import { Timeouts } from '../engine/turn/timeouts.ts'
import { PunctualError } from '../errors.ts'
import type { Handler } from '../model/context.ts'
import { Definition } from '../model/definition.ts'
import { errorText } from '../model/error-record.ts'
import { Emitter } from '../model/events.ts'
import { checkObject } from '../model/limits.ts'
import { observed, type StoreObserver } from '../store/observed.ts'
import { sealed } from '../store/sealed.ts'
import { systemClock } from '../time/clock.ts'
import { guarded, stderrLogger } from './logger.ts'
import { type PunctualOptions, parseOptions } from './options.ts'
import { random, randomBytes } from './random.ts'

/** The environment of a node, from the options of `createPunctual`. */
export function nodeEnv(given: PunctualOptions): Env {
  const { options, engine } = parseOptions(given)
  const clock = options.clock ?? systemClock
  const chance = options.random ?? random
  const log = guarded(options.log ?? stderrLogger)
  const events: Bus = new Emitter((error, event) => log.error(`A listener of ${event} threw`, { error: errorText(error) }))
  return {
    clock,
    random: chance,
    randomBytes,
    store: observed(
      options.codec ? sealed(options.store, options.codec) : options.store,
      { clock, random: chance },
      storeObserver(events),
    ),
    log,
    events,
    registry: registryOf(options),
    time: new StoreTime(clock, () => events.emit('signal.jump', null)),
    timeouts: new Timeouts(clock),
    joinedClaims: new JoinedClaims(),
    figures: new Figures(),
    declared: new Map(),
    unopposedSince: new Map(),
    parts: new Map(),
    work: { port: null },
    trace: { port: null },
    options: engine,
  }
}

function storeObserver(events: Bus): StoreObserver {
  return {
    get isActive() {
      return events.has('signal.store')
    },
    note: (call) => events.emit('signal.store', call),
  }
}

function registryOf({ jobs = [], handlers = {} }: PunctualOptions): Registry {
  const registry = new Registry()
  if (!Array.isArray(jobs))
    throw new PunctualError('option.invalid', 'jobs must be a list of definitions made by defineJob', { field: 'jobs' })
  jobs.forEach((definition, at) => {
    if (!(definition instanceof Definition))
      throw new PunctualError('option.invalid', `jobs[${at}] must be made by defineJob; got ${typeof definition}`, {
        field: `jobs[${at}]`,
      })
    registry.define(definition)
  })
  checkObject(handlers, 'handlers')
  for (const [job, own] of Object.entries(handlers)) {
    if (typeof own !== 'function') checkObject(own, `handlers.${job} must be a function, or an object of functions by task; it`)
    if (typeof own === 'function') registry.handle(job, null, own as Handler)
    else for (const [task, handler] of Object.entries(own)) registry.handle(job, task, handler as Handler)
  }
  return registry
}
