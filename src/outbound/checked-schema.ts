import { errorText } from '../model/error-record.ts'
import type { PayloadSchema } from '../model/payload.ts'

/** A payload schema of a function that returns the payload or throws. */
export function checkedSchema<Payload>(check: (payload: unknown) => Payload): PayloadSchema<Payload> {
  return {
    '~standard': {
      version: 1,
      vendor: 'punctual',
      validate: (value) => {
        try {
          return { value: check(value) }
        } catch (error) {
          return { issues: [{ message: errorText(error) }] }
        }
      },
    },
  }
}
