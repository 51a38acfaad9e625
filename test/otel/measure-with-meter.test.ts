import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { createPunctual, defineJob, type PunctualOptions } from 'punctual'
import { memory } from 'punctual/memory'
import { measureWithMeter } from 'punctual/otel'
import { manualClock } from 'punctual/testing'
import { expect, test } from 'vitest'
import { silent } from '../http/asker.ts'

const good = defineJob('good').task('run', () => 1)

test('JB-18: the metrics of a scheduler arrive at an OpenTelemetry meter under their names, until it is ended', async () => {
  await using scene = newScene()
  await scene.punctual.enqueue(good)
  await scene.punctual.runDue()
  const first = await scene.collect()
  expect(first.get('scheduler_job_occurrences_total')).toMatchObject([
    { attributes: { job: 'good', status: 'completed' }, value: 1 },
  ])
  expect(first.get('scheduler_job_lateness_seconds')).toMatchObject([{ attributes: { job: 'good' }, value: { count: 1 } }])
  expect(first.get('scheduler_jobs_running_total')).toMatchObject([{ attributes: {}, value: 0 }])
  expect(first.get('scheduler_planner_lag_seconds')).toMatchObject([{ value: 0 }])
  scene.end()
  await scene.punctual.enqueue(good)
  await scene.punctual.runDue()
  const second = await scene.collect()
  expect(second.get('scheduler_job_occurrences_total')).toMatchObject([{ value: 1 }])
})

test('while the store is away its gauges are left out, and the rest is exported', async () => {
  const store = memory()
  await using scene = newScene({ store })
  await scene.punctual.enqueue(good)
  store.counts = () => Promise.reject(new Error('away'))
  const found = await scene.collect()
  expect(found.get('scheduler_jobs_running_total') ?? []).toEqual([])
  expect(found.get('scheduler_node_healthy')).toMatchObject([{ value: 0 }])
  expect(found.get('scheduler_occurrences_created_total')).toMatchObject([{ attributes: { source: 'deferred' }, value: 1 }])
})

function newScene(options: Partial<PunctualOptions> = {}) {
  const punctual = createPunctual({ store: memory(), clock: manualClock(), jobs: [good], log: silent, ...options })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const end = measureWithMeter(punctual, { meter: provider.getMeter('test') })
  return {
    punctual,
    end,
    collect: async () => {
      exporter.reset()
      await provider.forceFlush()
      const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap(({ metrics }) => metrics))
      return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints as readonly unknown[]]))
    },
    [Symbol.asyncDispose]: async () => {
      await provider.shutdown()
      await punctual.close()
    },
  }
}
