import { type Clock, systemClock } from '../../../time/clock.ts'
import type { Hint, StoreEnv } from '../../store.ts'
import { LaneStarts } from '../claim/lane-starts.ts'
import type { Context } from '../context.ts'
import { CallerWrites } from '../hints/caller-writes.ts'
import { Notifier } from '../hints/notifier.ts'
import { Names } from '../names/names.ts'
import { Versions } from '../names/versions.ts'
import type { checkPostgresOptions } from '../options.ts'
import type { PruneCursor } from '../prune.ts'
import { Database, type Source } from './database.ts'

/** The state of one opening of the store. */
export interface OpenStore {
  /** Another one after every loss of a connection; calls under way keep theirs. */
  context: Context
  readonly clock: Clock
  readonly laneStarts: LaneStarts
  readonly notifier: Notifier
  readonly callerWrites: CallerWrites
  readonly pruned: PruneCursor
}

export function connect(
  source: Source,
  { schema, prepare, listenUrl }: ReturnType<typeof checkPostgresOptions>,
  { clock, random }: StoreEnv,
): OpenStore {
  const onCall = (call: Promise<unknown>) => clock.waitFor?.(call)
  const db = new Database(source, { schema, prepare, random, onCall, onLoss: () => forget(opened) })
  const isReal = clock === systemClock
  let storeNow = { now: clock.wall(), at: clock.mono() }
  const context: Context = {
    db,
    ...nothingKnown(db),
    now: () => (isReal ? null : Math.floor(clock.wall())),
    guessNow: () => (isReal ? storeNow.now + clock.mono() - storeNow.at : Math.floor(clock.wall())),
    noteNow: (now) => {
      storeNow = { now, at: clock.mono() }
    },
  }
  const opened: OpenStore = {
    context,
    clock,
    laneStarts: new LaneStarts(isReal ? () => clock.mono() : null),
    notifier: new Notifier(context, listenUrl),
    callerWrites: new CallerWrites(() => clock.mono()),
    pruned: { front: 0, next: 0, rules: new Map(), page: 0 },
  }
  return opened
}

function nothingKnown(db: Database): Pick<Context, 'names' | 'versions'> {
  return { names: new Names(db.apart), versions: new Versions() }
}

/**
 * A standby that has become the primary may lack the last of what was committed, and give the same numbers to other names. Names
 * and versions are read again.
 */
function forget(opened: OpenStore): void {
  opened.context = { ...opened.context, ...nothingKnown(opened.context.db) }
}

/** The store listens as well, but only beside another listener: a process that only creates work needs no hints. */
export function listen({ notifier, laneStarts }: OpenStore, listener: (hint: Hint) => void): () => void {
  return notifier.subscribe((hint) => {
    if (hint.kind === 'due') laneStarts.lower(hint.at)
    listener(hint)
  })
}
