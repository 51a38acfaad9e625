// Compiled by the checks and never run: each line under an expectation must not compile, and all others must.

import * as v from 'valibot'
import { z } from 'zod'
import type { Context } from '../../src/model/context.ts'
import { defineJob, type InputOf, type ResultOf } from '../../src/model/definition.ts'

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
  .task('usage', () => ({ hours: 3, at: new Date() }))
  .task('render', async () => 'pdf')
  .task('log')

// One after the other: each sees what all earlier ones returned, awaited and as JSON has it.
tasks.task('send', ({ results }) => {
  check<Equal<typeof results, Readonly<{ usage: { hours: number; at: string }; render: string; log: unknown }>>>()
  // @ts-expect-error a date comes back as a text
  return results.usage.at.getTime()
})
// @ts-expect-error without mode: 'graph' nothing comes after certain tasks
tasks.task('send', { after: ['render'] }, () => 1)

// In a graph: the results of the tasks named in `after`.
const graph = defineJob('graph', { mode: 'graph' })
  .task('usage', () => ({ hours: 3 }))
  .task('render', async () => 'pdf')
graph.task('send', { after: ['usage', 'render'] }, ({ results }) => {
  check<Equal<typeof results, Readonly<{ usage: { hours: number }; render: string }>>>()
})
graph.task('send', { after: ['render'] }, ({ results }) => {
  // @ts-expect-error usage is not listed in after
  return results.usage
})
graph.task('send', ({ results }) => {
  // @ts-expect-error nothing is listed in after
  return results.render
})
defineJob<{ order: number }, 'graph'>('graph', { mode: 'graph' })
  .task('read', ({ payload }) => payload.order)
  .task('send', { after: ['read'] }, ({ results }) => check<Equal<typeof results, Readonly<{ read: number }>>>())

// Side by side nothing is seen.
defineJob('parallel', { mode: 'parallel' })
  .task('one', () => 1)
  .task('two', ({ results }) => {
    // @ts-expect-error it may not be there yet
    return results.one
  })

// A result that may be missing is possibly undefined.
defineJob('careful')
  .task('optional', { onFailure: 'continue' }, () => 1)
  .task('needed', () => 2)
  .task('last', ({ results }) => check<Equal<typeof results, Readonly<{ optional: number | undefined; needed: number }>>>())
defineJob('careful', { onFailure: 'continue' })
  .task('one', () => 1)
  .task('two', { onFailure: 'fail-fast' }, () => 2)
  .task('last', ({ results }) => check<Equal<typeof results, Readonly<{ one: number | undefined; two: number }>>>())

// Jobs of one step.
defineJob('remind', { payload: z.object({ order: z.string() }) }, ({ payload }) => {
  check<Equal<typeof payload, { order: string }>>()
})
defineJob<{ order: number }>('remind', ({ payload }) => payload.order)
const annotated = defineJob('remind', {}, ({ payload }: Context<{ order: number }>) => payload.order)
check<Equal<InputOf<typeof annotated>, { order: number }>>()
check<Equal<ResultOf<typeof annotated>, number>>()
const stepwise = tasks.task('send', () => ({ sent: true }))
check<Equal<ResultOf<typeof stepwise>, { sent: boolean }>>()

// Limit keys of the payload as it is given.
defineJob('mail', { payload: z.object({ to: z.coerce.string() }), concurrency: { key: ({ to }) => String(to), limit: 1 } })
defineJob<{ to: string }>('mail', { rate: { key: ({ to }) => to, limit: 1, per: '1m' } })
// @ts-expect-error a key is a text
defineJob<{ to: string }>('mail', { concurrency: { key: ({ to }) => to.length, limit: 1 } })

// @ts-expect-error there is no task of this name
graph.task('send', { after: ['rendr'] }, () => 1)
// @ts-expect-error a task cannot come after itself
graph.task('send', { after: ['send'] }, () => 1)
// @ts-expect-error the name is taken
tasks.task('render', () => 1)
// @ts-expect-error the name is taken, also with options
tasks.task('render', { timeout: 5 }, () => 1)
// @ts-expect-error a task has no mode
tasks.task('send', { mode: 'parallel' }, () => 1)
// @ts-expect-error there is no such strategy
defineJob('mail', { onFailure: 'ignore' })
// @ts-expect-error there is no such option
defineJob('mail', { retrys: { max: 1 } })
// @ts-expect-error what is no schema is no payload schema
defineJob('mail', { payload: { to: 'string' } })
