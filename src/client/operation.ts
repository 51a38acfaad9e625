// The one table of what can be done from outside. HTTP routes, the OpenAPI file, role checks, the remote client, the commands of the CLI
// and the tests of access derive from it.
import type { Operation } from './operation/row.ts'
import { boardOperations } from './operation/table/board.ts'
import { careOperations } from './operation/table/care.ts'
import { jobsOperations } from './operation/table/jobs.ts'
import { occurrencesOperations } from './operation/table/occurrences.ts'
import { operationsOperations } from './operation/table/operations.ts'
import { serverOperations } from './operation/table/server.ts'

export type { Operation } from './operation/row.ts'

/** Every operation by its name. */
export const operations = {
  ...serverOperations,
  ...boardOperations,
  ...jobsOperations,
  ...occurrencesOperations,
  ...operationsOperations,
  ...careOperations,
} as const satisfies Readonly<Record<string, Operation>>

/** The name of an operation. */
export type OperationName = keyof typeof operations

export const operationNames = Object.keys(operations) as readonly OperationName[]

/** An operation, whichever: the fields that not every one has are optional here. */
export function operation(name: OperationName): Operation {
  return operations[name]
}
