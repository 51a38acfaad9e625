// Compiled by the checks and never run: each line under an expectation must not compile, and all others must.

import * as v from 'valibot'
import { z } from 'zod'
import { defineJob } from '../../src/model/definition.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function check<_T extends true>(): void {}

const invoice = defineJob('invoice', { payload: z.object({ customer: z.string(), net: z.coerce.number() }) })

// A handler gets what the schema makes of the payload.
invoice.task('usage', ({ payload }) => {
  check<Equal<typeof payload, { customer: string; net: number }>>()
  // @ts-expect-error the payload has no such field
  return payload.costumer
})
defineJob('mail', { payload: v.object({ to: v.string() }) }).task('send', ({ payload }) => {
  check<Equal<typeof payload, { to: string }>>()
})
defineJob('mail', {
  payload: z.object({ to: z.string() }),
  onStart: ({ payload }) => check<Equal<typeof payload, { to: string }>>(),
})

// Without a schema the payload is unknown.
defineJob('mail').task('send', ({ payload }) => {
  // @ts-expect-error it must be checked first
  return payload.to
})

const tasks = invoice
  .task('usage', () => ({ hours: 3 }))
  .task('render', async () => 'pdf')
  .task('log')

// Results are those of the tasks named in `after`, awaited.
tasks.task('send', { after: ['usage', 'render'] }, ({ results }) => {
  check<Equal<typeof results, Readonly<{ usage: { hours: number }; render: string }>>>()
})
tasks.task('send', { after: ['render'] }, ({ results }) => {
  // @ts-expect-error usage is not listed in after
  return results.usage
})
tasks.task('send', ({ results }) => {
  // @ts-expect-error nothing is listed in after
  return results.render
})
tasks.task('send', { after: ['log'] }, ({ results }) => {
  check<Equal<typeof results.log, unknown>>()
})

// @ts-expect-error there is no task of this name
tasks.task('send', { after: ['rendr'] }, () => 1)
// @ts-expect-error a task cannot come after itself
tasks.task('send', { after: ['send'] }, () => 1)
// @ts-expect-error the name is taken
tasks.task('render', () => 1)
// @ts-expect-error the name is taken, also with options
tasks.task('render', { after: ['usage'] }, () => 1)
// @ts-expect-error a task has no mode
tasks.task('send', { mode: 'parallel' }, () => 1)
// @ts-expect-error there is no such strategy
defineJob('mail', { onFailure: 'ignore' })
// @ts-expect-error there is no such option
defineJob('mail', { retrys: { max: 1 } })
// @ts-expect-error what is no schema is no payload schema
defineJob('mail', { payload: { to: 'string' } })
