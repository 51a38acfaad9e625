import pg from 'pg'

export type Source = string | pg.Pool

const connectMs = 5_000
const mostConnections = 8
/** The server undoes a verb's transaction that is idle for so long. */
const mostIdleMs = 5_000
/** As many handlers run at once by default. */
const mostWorks = 10

/**
 * To compile a statement, or to plan it anew for each set of values, takes longer than to run it: what is read and written here
 * goes by keys, whatever the values. A plan is kept for as long as its connection, so none may count on a table being small.
 */
export const planSettings = '-c jit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off'

/** The connections of a store. None is made before it is needed. */
export interface Pools {
  /** For the verbs; the caller's, where one was given. */
  readonly verbs: pg.Pool
  /** For handlers' work, so the verbs of the node never wait for it. Always ours. */
  readonly works: pg.Pool
  /** For what must not wait for a connection that a caller holds. */
  readonly apart: pg.Pool
  /** Those that we made, and end. */
  readonly own: readonly pg.Pool[]
}

export function makePools(source: Source, { prepare }: { prepare: boolean }): Pools {
  const options: pg.PoolConfig = {
    ...(typeof source === 'string' ? { connectionString: source } : optionsOf(source)),
    connectionTimeoutMillis: connectMs,
    keepAlive: true,
    application_name: 'punctual',
  }
  // Libraries that handlers hand their client to do not all know pipelines.
  const works = newPool({ ...options, max: mostWorks, min: 0 })
  if (typeof source !== 'string') return { verbs: source, works, apart: works, own: [works] }
  const verbs = newPool({
    ...options,
    max: mostConnections,
    pipeline: true,
    // Poolers refuse startup parameters.
    ...(prepare && withSettings(source, `${planSettings} -c idle_in_transaction_session_timeout=${mostIdleMs}`)),
  } as pg.PoolConfig)
  return { verbs, works, apart: verbs, own: [verbs, works] }
}

/** The caller's settings come behind ours, and win if both name the same. */
function withSettings(url: string, ours: string): pg.PoolConfig {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const theirs = parsed?.searchParams.get('options') ?? process.env.PGOPTIONS
  // The URL's options would replace ours.
  parsed?.searchParams.delete('options')
  return { connectionString: parsed?.href ?? url, options: [ours, theirs].filter(Boolean).join(' ') }
}

/** A copy would leave the password behind, which the pool hides from those that print it. */
function optionsOf({ options }: pg.Pool): pg.PoolConfig {
  return { ...options, ...(options.password !== undefined && { password: options.password }) }
}

function newPool(options: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(options)
  // An idle connection that breaks is replaced when it is next needed; without a listener it would end the process.
  pool.on('error', () => {})
  return pool
}
