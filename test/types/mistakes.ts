// Typical mistakes, and the text that the compiler must show for each. compiler-text.test.ts compiles this file.
import { createPunctual, cron, defineJob, type Punctual } from 'punctual'
import { memory } from 'punctual/memory'
import { z } from 'zod'

declare const punctual: Punctual
const remind = defineJob<{ order: number }>('remind', {}, ({ payload }) => payload.order)
const clock = defineJob('clock', () => ({ at: new Date() }))
const report = defineJob('report', { payload: z.object({ month: z.string() }) })
  .task('read', () => [1, 2])
  .task('send', { onFailure: 'continue' }, () => 'sent')
const graph = defineJob('graph', { mode: 'graph' })
  .task('read', () => 1)
  .task('write', () => 2)
const apart = defineJob<{ order: number }>('apart').task('read')

// says: Object literal may only specify known properties, but 'runat' does not exist in type 'EnqueueOptions'. Did you mean to write 'runAt'?
punctual.enqueue(remind, { order: 1 }, { runat: '2026-01-01T00:00:00Z' })
// says: Type 'string' is not assignable to type 'number'.
punctual.enqueue(remind, { order: '1' })
const payload = { order: '1' }
// says: Argument of type '{ order: string; }' is not assignable to parameter of type '{ order: number; }'.
punctual.enqueue(remind, payload)
// says: Arguments for the rest parameter 'payloadAndOptions' were not provided.
punctual.enqueue(remind)
// says: Type 'number' is not assignable to type 'InstantInput | undefined'.
punctual.enqueue(remind, { order: 1 }, { runAt: 900_000 })
// says: Type 'string' is not assignable to type 'number'.
punctual.enqueueMany([{ job: remind, payload: { order: '1' } }])
punctual.enqueueMany([
  { job: remind, payload: { order: 1 } },
  // says: Object literal may only specify known properties, but 'mouth' does not exist in type '{ month: string; }'. Did you mean to write 'month'?
  { job: report, payload: { mouth: '1' } },
])
// says: Object literal may only specify known properties, and 'kee' does not exist in type 'EnqueueRequest<
punctual.enqueueMany([{ job: remind, payload: { order: 1 }, kee: 'x' }])
// says: Arguments for the rest parameter 'optionsWithPayload' were not provided.
punctual.schedule(report, cron('0 6 1 * *'))
// says: Object literal may only specify known properties, but 'mouth' does not exist in type '{ month: string; }'. Did you mean to write 'month'?
punctual.schedule(report, cron('0 6 1 * *'), { payload: { mouth: '2026-01' } })
// says: Object literal may only specify known properties, and 'nmae' does not exist in type 'ScheduleOptions<{ month: string; }> & { payload: { month: string; }; }'.
punctual.schedule(report, cron('0 6 1 * *'), { payload: { month: '2026-01' }, nmae: 'x' })
// says: Argument of type 'string' is not assignable to parameter of type 'Schedule'.
punctual.schedule(report, '0 6 1 * *', { payload: { month: '2026-01' } })
// says: Type 'number' is not assignable to type 'string'.
punctual.trigger(report, { payload: { month: 1 } })
// says: Type 'number' is not assignable to type 'string'.
punctual.update(report, { payload: { month: 1 } })
// says: Argument of type '"raed"' is not assignable to parameter of type '"read"'.
punctual.handle(apart, 'raed', () => 1)
// says: Property 'odrer' does not exist on type '{ order: number; }'. Did you mean 'order'?
punctual.handle(apart, 'read', ({ payload }) => payload.odrer)
// says: Did you mean to write 'timeout'?
defineJob('x', { timeuot: '5m' })
// says: Did you mean to write 'timeout'?
defineJob('x', { timeuot: '5m' }, () => 1)
// says: Object literal may only specify known properties, and 'maximum' does not exist in type 'RetryOptions'.
defineJob('x', { retry: { maximum: 5 } }, () => 1)
// says: Property 'error' is missing in type 'string[]' but required in type 'AfterNeedsModeGraph'.
report.task('late', { after: ['read'] }, () => 1)
// says: Type '"raed"' is not assignable to type '"read" | "write"'.
graph.task('late', { after: ['raed'] }, () => 1)
// says: Did you mean to write 'timeout'?
report.task('late', { timeuot: 1 }, () => 1)
// says: 'results.send' is possibly 'undefined'.
report.task('late', ({ results }) => results.send.length)
// says: Property 'raed' does not exist on type 'Readonly<{ read: number[]; send: string | undefined; }>'.
report.task('late', ({ results }) => results.raed)
// says: Property 'write' does not exist on type 'Readonly<{ read: number; }>'.
graph.task('late', { after: ['read'] }, ({ results }) => results.write)
// says: Property 'getTime' does not exist on type 'string'.
punctual.get(clock, 'id').then((found) => found?.result?.at.getTime())
// says: Property 'mouth' does not exist on type '{ month: string; }'. Did you mean 'month'?
punctual.get({ job: report, key: 'k' }).then((found) => found?.payload.mouth)
// says: Property 'error' is missing in type 'Date' but required in type 'DoesNotSurviveJson<Date>'.
punctual.enqueue(defineJob<{ at: Date }>('x'), { at: new Date() })
// says: Property 'error' is missing in type 'Map<any, any>' but required in type 'DoesNotSurviveJson<Map<string, number>>'.
punctual.enqueue(defineJob<{ seen: Map<string, number> }>('x'), { seen: new Map() })
// says: Object literal may only specify known properties, but 'concurency' does not exist in type 'PunctualOptions'. Did you mean to write 'concurrency'?
createPunctual({ store: memory(), concurency: 5 })
// says: Type 'string' is not assignable to type 'AnyDefinition'.
createPunctual({ store: memory(), jobs: ['report'] })
// says: Property 'costumer' does not exist on type '{ customer: string; }'.
defineJob('x', { payload: z.object({ customer: z.string() }), concurrency: { key: (payload) => payload.costumer, limit: 1 } })
// says: Type '"graph"' is not assignable to type '"sequential"'.
defineJob<{ order: number }>('x', { mode: 'graph' })
// says: Object literal may only specify known properties, and 'kye' does not exist in type
punctual.cancel({ job: remind, kye: 'x' })
// says: Type 'string' is not assignable to type 'undefined'.
punctual.get({ job: remind, key: 'x', idempotencyKey: 'x' })
// says: Object literal may only specify known properties, and 'unique' does not exist in type 'EnqueueOptions'.
punctual.enqueue(remind, { order: 1 }, { key: 'x', unique: 'ever' })
// says: Type '"15m"' has no properties in common with type 'When & By'.
punctual.reschedule('id', '15m')
// says: Argument of type '"occurrence.complete"' is not assignable to parameter of type 'keyof Events'.
punctual.on('occurrence.complete', () => {})
// says: Argument of type '"read"' is not assignable to parameter of type '"read" & TaskNameIsTaken<"read">'.
report.task('read', () => 1)
// says: Argument of type '"read"' is not assignable to parameter of type '"read" & TaskNameIsTaken<"read">'.
report.task('read', { timeout: '5m' }, () => 1)
// says: Type '() => number' has no properties in common with type 'DefinitionOptions<
defineJob('x', () => 1, { retry: { max: 2 } })
// says: Type 'string' is not assignable to type 'Schedule'.
defineJob('x', { schedule: '0 3 * * *' }, () => 1)
// says: Type 'string' is not assignable to type 'Store'.
createPunctual({ store: 'sqlite:app.db' })
// says: Property 'store' is missing in type
createPunctual({ jobs: [report] })
// says: Object literal may only specify known properties, and 'delay' does not exist in type '{ order: number; }'.
punctual.enqueue(remind, { delay: '15m' })
// says: Object literal may only specify known properties, and 'tz' does not exist in type 'CronOptions'.
cron('0 3 * * *', { tz: 'Europe/Warsaw' })
