// The settings of a job, as a request gives them. The library checks them once more, by the same rules as for code.
import { z } from 'zod'
import { overlapPolicies } from '../../model/overlap.ts'
import { recoveryStrategies } from '../../model/recovery.ts'
import { retryStrategies } from '../../model/retry.ts'
import { failureStrategies, jobModes } from '../../model/settings.ts'
import { duration, instant, json, key, name } from './part.ts'

/** A schedule: text of any built-in kind with its zone, or the JSON of one. */
export const schedule = z.union([
  z.strictObject({ text: z.string().min(1).max(256), timezone: name.optional() }),
  z.looseObject({ kind: name }),
])

const strategy = z.enum(recoveryStrategies)

export const settings = z.strictObject({
  retry: z
    .strictObject({
      max: z.int().min(0).max(1_000_000),
      interval: duration,
      factor: z.number(),
      maxInterval: duration,
      jitter: z.number(),
      share: z.number(),
      strategy: z.enum(retryStrategies),
    })
    .partial()
    .optional(),
  timeout: duration.optional(),
  onFailure: z.enum(failureStrategies).optional(),
  executionTimeout: duration.optional(),
  mode: z.enum(jobModes).optional(),
  priority: z.int().min(0).max(9).optional(),
  deadLetter: z.boolean().optional(),
  overlap: z.enum(overlapPolicies).optional(),
  recovery: z
    .union([strategy, z.strictObject({ strategy, maxOccurrences: z.int().min(1).optional(), maxAge: duration.optional() })])
    .optional(),
  catchUp: z.int().min(1).optional(),
  concurrency: z.union([z.int().min(1), z.strictObject({ key: key.optional(), limit: z.int().min(1) })]).optional(),
  rate: z.strictObject({ key: key.optional(), limit: z.int().min(1), per: duration }).optional(),
  startWithin: duration.optional(),
  autoPause: z.int().min(1).optional(),
})

const stretch = z.union([z.strictObject({ count: z.int().min(1).max(100_000) }), z.strictObject({ span: duration })])

/** When a change takes hold. */
export const update = z.union([
  z.enum(['immediate', 'graceful']),
  z.strictObject({ graceful: z.union([stretch, z.strictObject({ at: instant })]) }),
  z.strictObject({ windowed: stretch }),
])

export const patch = settings.extend({
  schedule: schedule.nullable().optional(),
  payload: json.optional(),
  enabled: z.boolean().optional(),
  update: update.optional(),
})
