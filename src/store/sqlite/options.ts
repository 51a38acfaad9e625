import { PunctualError } from '../../errors.ts'
import { checkOneOf, checkOptions } from '../../model/limits.ts'

/** The options of `sqlite`. */
export interface SqliteOptions {
  /**
   * The failures that an acknowledged write survives. `normal` (default): the end of the process, however sudden. `full`: also a power cut,
   * at the price of one flush to the disk for each commit.
   */
  readonly durability?: Durability
  /** True: this process keeps the file to itself, and others that open it get `store.busy`. Default false. */
  readonly exclusive?: boolean
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
  checkOptions(options, ['durability', 'exclusive'], 'sqlite')
  const { durability = 'normal', exclusive = false } = options
  if (typeof exclusive !== 'boolean')
    throw new PunctualError('option.invalid', `sqlite.exclusive must be true or false; got ${String(exclusive)}`, {
      field: 'exclusive',
    })
  return { durability: checkOneOf(durability, 'sqlite.durability', durabilities), exclusive }
}
