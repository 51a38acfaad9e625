import { type PayloadSchema, validatePayload } from './payload.ts'

/** Brings a payload from one form to the next newer one. */
export type Upcaster = (payload: never) => unknown

/**
 * Returns the schema's output for a stored payload. One that it refuses may have an older form: it goes through the newest upcaster, then through
 * the newest two, and so on, until the schema accepts it.
 */
export async function currentPayload(
  schema: PayloadSchema,
  upcasters: readonly Upcaster[],
  payload: unknown,
  job: string,
): Promise<unknown> {
  try {
    return await validatePayload(schema, payload, job)
  } catch (refused) {
    for (let first = upcasters.length - 1; first >= 0; first--) {
      try {
        const newer = upcasters.slice(first).reduce((older, upcast) => upcast(older as never), payload)
        return await validatePayload(schema, newer, job)
      } catch {
        // Not of this form.
      }
    }
    throw refused
  }
}
