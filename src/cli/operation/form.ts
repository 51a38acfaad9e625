import type { OperationName, WireOutput } from '../../http/wire.ts'
import type { Column } from './show.ts'

type ItemOf<Name extends OperationName> = WireOutput<Name> extends { items: readonly (infer Item)[] } ? Item : never

/** How an operation looks on the command line. Operations without one get a command all the same. */
export interface Form<Name extends OperationName = OperationName> {
  /** Its words, when they are not those of the name: `dead groups` for `dead.list`. */
  readonly command?: string
  /** A short command at the top that does the same. */
  readonly top?: string
  /** Fields of the query or body that are arguments, after those of the path; with `?` when they may be left out. */
  readonly arguments?: readonly string[]
  /** The words after the command in its example. */
  readonly example?: string
  /** Of a list: its columns. */
  readonly columns?: readonly Column<ItemOf<Name>>[]
  /** Of a list without items. */
  readonly none?: string
  /** The answer as text. */
  show?(output: WireOutput<Name>, given: Readonly<Record<string, unknown>>): string
  /** Refuses values that cannot go together; the text is the reason. */
  readonly refuse?: (given: Readonly<Record<string, unknown>>) => string | null
}
