// The looks of operations on the command line. An operation that is not here has a plain one.
import type { OperationName } from '../../http/wire.ts'
import { careForms } from './form/care.ts'
import { jobForms } from './form/jobs.ts'
import { occurrenceForms } from './form/occurrences.ts'
import type { Form } from './form.ts'

const forms: { readonly [Name in OperationName]?: Form<Name> } = { ...jobForms, ...occurrenceForms, ...careForms }

export function formOf(name: OperationName): Form {
  return (forms[name] ?? {}) as Form
}
