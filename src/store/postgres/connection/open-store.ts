import { type Clock, systemClock } from '../../../time/clock.ts'
import type { Hint, StoreEnv } from '../../store.ts'
import { Floors } from '../claim/lane-starts.ts'
import type { Context } from '../context.ts'
import { Unannounced } from '../hints/caller-writes.ts'
import { HintLine } from '../hints/hints.ts'
import { Names } from '../names/names.ts'
import { Versions } from '../names/versions.ts'
import type { checkPostgresOptions } from '../options.ts'
import type { PruneCursor } from '../prune.ts'
import { Database, type Source } from './database.ts'

/** The state of one opening of the store. */
export interface Opened {
  /** Another one after every loss of a connection; calls under way keep theirs. */
  context: Context
  readonly clock: Clock
  readonly floors: Floors
  readonly line: HintLine
  readonly unannounced: Unannounced
  readonly pruned: PruneCursor & { page: number }
}

export function connect(
  source: Source,
  { schema, prepare, listenUrl }: ReturnType<typeof checkPostgresOptions>,
  { clock, random }: StoreEnv,
): Opened {
  const onCall = (call: Promise<unknown>) => clock.waitFor?.(call)
  const db = new Database(source, { schema, prepare, random, onCall, onLoss: () => forget(opened) })
  const isReal = clock === systemClock
  let told = { now: clock.wall(), at: clock.mono() }
  const context: Context = {
    db,
    ...nothingKnown(db),
    now: () => (isReal ? null : Math.floor(clock.wall())),
    guessNow: () => (isReal ? told.now + clock.mono() - told.at : Math.floor(clock.wall())),
    noteNow: (now) => {
      told = { now, at: clock.mono() }
    },
  }
  const opened: Opened = {
    context,
    clock,
    floors: new Floors(isReal ? () => clock.mono() : null),
    line: new HintLine(context, listenUrl),
    unannounced: new Unannounced(() => clock.mono()),
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
function forget(opened: Opened): void {
  opened.context = { ...opened.context, ...nothingKnown(opened.context.db) }
}

/** The store listens as well, but only beside another listener: a process that only creates work needs no hints. */
export function listen({ line, floors }: Opened, listener: (hint: Hint) => void): () => void {
  return line.subscribe((hint) => {
    if (hint.kind === 'due') floors.lower(hint.at)
    listener(hint)
  })
}
