// Pieces that the inputs and outputs of operations share. Instants are ISO 8601 texts, durations milliseconds.
import { z } from 'zod'
import { occurrenceStates, sources } from '../../model/lifecycle.ts'

export const instant = z.iso.datetime({ offset: true }).meta({ description: 'An instant, ISO 8601 with its offset' })
export const durationMs = z.number().nonnegative().meta({ description: 'Milliseconds' })
export const whole = z.int().nonnegative()
export const state = z.enum(occurrenceStates)
export const source = z.enum(sources)

/** JSON of any shape: payloads, results, values of fields. */
export const json = z.unknown().meta({ description: 'Any JSON value' })

/** A duration as users write it: `90s`, `5m`, `PT1H30M`, or a number of milliseconds. */
export const duration = z.union([z.string().min(1).max(100), z.int().min(0).max(Number.MAX_SAFE_INTEGER)])

export const name = z.string().min(1).max(100)
export const key = z.string().min(1).max(200)
export const reason = z.string().min(1).max(200)
export const cursor = z.string().min(1).max(1000).meta({ description: 'The `cursor` of the page before' })
export const limit = (most: number) => z.int().min(1).max(most)
export const tenant = name.meta({ description: 'The tenant. Default: the only one that the credential allows, else `default`' })

export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), cursor: z.string().nullable() })
}

/** A recorded failure. `stack` is left out for viewers. */
export const error = z
  .object({
    name: z.string().optional(),
    code: z.string().optional(),
    message: z.string(),
    stack: z.string().optional(),
    get cause() {
      return error.optional()
    },
    get errors() {
      return z.array(error).optional()
    },
  })
  .meta({ id: 'Error' })
