import { PunctualError, shown } from '../../errors.ts'
import { checkOneOf, checkOptions } from '../../model/limits.ts'
import { checkBoolean } from '../../model/settings.ts'
import { defaultPrefix } from './connection/statements.ts'

/** The options of `sqlite`. */
export interface SqliteOptions {
  /**
   * The failures that an acknowledged write survives. `normal` (default): the end of the process, however sudden. `full`: also a power cut,
   * at the price of one flush to the disk for each commit.
   */
  readonly durability?: Durability
  /** True: this process keeps the file to itself, and others that open it get `store.busy`. Default false. */
  readonly exclusive?: boolean
  /** The beginning of the names of all tables. Stores of different prefixes in one file know nothing of each other. Default `punctual_`. */
  readonly prefix?: string
  /** Whether opening the store makes and upgrades its tables. False: `store.outdated` until another process has. Default true. */
  readonly createTables?: boolean
}

const durabilities = ['normal', 'full'] as const
export type Durability = (typeof durabilities)[number]

export function checkSqliteOptions(path: string, options: SqliteOptions): Required<SqliteOptions> {
  if (typeof path !== 'string' || path === '') {
    throw new PunctualError(
      'option.invalid',
      `The path of a SQLite store must be a text such as ./punctual.db; got ${JSON.stringify(path)}`,
      { field: 'path', given: path },
    )
  }
  checkOptions(options, ['durability', 'exclusive', 'prefix', 'createTables'], 'sqlite')
  const { durability = 'normal', exclusive = false, prefix = defaultPrefix, createTables = true } = options
  if (!checkBoolean(createTables, 'sqlite.createTables') && path === ':memory:')
    throw new PunctualError('option.invalid', 'sqlite.createTables must be true for :memory:, which no other process can fill', {
      field: 'createTables',
    })
  return {
    durability: checkOneOf(durability, 'sqlite.durability', durabilities),
    exclusive: checkBoolean(exclusive, 'sqlite.exclusive'),
    prefix: checkPrefix(prefix),
    createTables,
  }
}

/** Allowed are names that need no quoting: none can break out of a statement. */
function checkPrefix(prefix: unknown): string {
  if (typeof prefix === 'string' && /^[a-z_][a-z0-9_]{0,47}$/.test(prefix) && !prefix.startsWith('sqlite_')) return prefix
  throw new PunctualError(
    'option.invalid',
    `sqlite.prefix must be 1 to 48 of a-z, 0-9 and _, beginning with a letter or _, and not with sqlite_; got ${shown(prefix)}`,
    { field: 'prefix', given: shown(prefix) },
  )
}
