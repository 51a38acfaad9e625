import { PunctualError } from '../../errors.ts'
import { checkOptions } from '../../model/limits.ts'
import type { Source } from './connection/database.ts'

/** The options of `postgres`. */
export interface PostgresOptions {
  /** The schema that holds the tables; made when missing. Default `punctual`. */
  readonly schema?: string
  /**
   * Whether statements are prepared under a name, once for each connection. Set it to false behind a pooler in transaction mode
   * that does not know named statements. Default true.
   */
  readonly prepare?: boolean
  /**
   * Where to listen for notifications. Default: where the statements go. Behind a pooler in transaction mode give the server's own
   * address, or `false` for no notifications: other processes' work is then found by looking once a second.
   */
  readonly listenUrl?: string | false
  /** Whether opening the store makes and upgrades its tables. False: `punctual migrate` does. Default true. */
  readonly createTables?: boolean
}

export type CheckedOptions = Required<PostgresOptions>

const names = ['schema', 'prepare', 'listenUrl', 'createTables'] as const

export function checkPostgresOptions(options: PostgresOptions): Omit<CheckedOptions, 'listenUrl'> & PostgresOptions {
  checkOptions(options, names, 'postgres')
  const { schema = 'punctual', listenUrl } = options
  if (listenUrl !== undefined && listenUrl !== false && !(typeof listenUrl === 'string' && isUrl(listenUrl)))
    throw new PunctualError('option.invalid', 'postgres.listenUrl must be a postgres:// URL or false', { field: 'listenUrl' })
  return {
    ...options,
    schema: checkSchemaName(schema),
    prepare: checkFlag(options.prepare, 'prepare', true),
    createTables: checkFlag(options.createTables, 'createTables', true),
  }
}

/** A URL is checked before the driver sees it, whose error would hold all of it, the password included. */
export function checkSource(source: Source): Source {
  const isText = typeof source === 'string'
  if (isText ? isUrl(source) : typeof source?.connect === 'function') return source
  throw new PunctualError(
    'option.invalid',
    'postgres needs a URL such as postgres://user:password@host:5432/database, with %40 for @ in a password, or a Pool of pg',
    { field: 'source' },
  )
}

/** The driver takes a URL without a host, for a socket named by `?host=`; the standard does not where there is a user. */
function isUrl(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text) && URL.canParse(text.replace('@/', '@host/'))
}

/** Allowed are names that need no quoting anywhere: none can break out of a statement. */
function checkSchemaName(schema: unknown): string {
  if (typeof schema === 'string' && /^[a-z_][a-z0-9_]{0,47}$/.test(schema) && !schema.startsWith('pg_')) return schema
  throw new PunctualError(
    'option.invalid',
    'postgres.schema must be 1 to 48 of a-z, 0-9 and _, beginning with a letter or _, and not with pg_',
    { field: 'schema', given: schema },
  )
}

function checkFlag(value: unknown, field: keyof PostgresOptions, otherwise: boolean): boolean {
  if (value === undefined) return otherwise
  if (typeof value === 'boolean') return value
  throw new PunctualError('option.invalid', `postgres.${field} must be true or false; got ${String(value)}`, { field })
}
