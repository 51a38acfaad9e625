import { type Attributes, type Meter, type ObservableGauge, metrics as otel } from '@opentelemetry/api'
import { Levels } from '../client/metrics/levels.ts'
import { measure } from '../client/metrics/measure.ts'
import { boundsSeconds, type GaugeName, type MetricName, type MetricSink, metrics } from '../client/metrics/metric.ts'
import type { Punctual } from '../client/punctual.ts'
import { schedulerEnv } from '../client/scheduler-env.ts'
import { version } from '../engine/node/version.ts'
import { checkOptions } from '../model/limits.ts'

/** The options of `measureWithMeter`. */
export interface MeterOptions {
  /** Default: `punctual` of the global meter provider. */
  meter?: Meter
}

/** Measured by runtime instrumentations of OpenTelemetry. */
const leftToOthers: readonly MetricName[] = ['scheduler_event_loop_delay_seconds']

/**
 * Sends the metrics of a scheduler to an OpenTelemetry meter, under the names of `/metrics`. The returned function ends it.
 * @example const end = measureWithMeter(punctual)
 */
export function measureWithMeter(punctual: Punctual, options: MeterOptions = {}): () => void {
  checkOptions(options, ['meter'], 'measureWithMeter')
  const env = schedulerEnv(punctual)
  const sink = new MeterSink(options.meter ?? otel.getMeter('punctual', version), new Levels(punctual, env))
  const endMeasuring = measure(env, sink)
  return () => {
    endMeasuring()
    sink.end()
  }
}

class MeterSink implements MetricSink {
  readonly #meter: Meter
  readonly #levels: Levels
  readonly #counts = new Map<MetricName, (labels: Attributes, by: number) => void>()
  readonly #gauges = new Map<MetricName, ObservableGauge>()
  /** The gauges that are set as things happen. */
  readonly #set = new Map<GaugeName, number>()

  constructor(meter: Meter, levels: Levels) {
    this.#meter = meter
    this.#levels = levels
    for (const name of Object.keys(metrics) as MetricName[]) if (!leftToOthers.includes(name)) this.#create(name)
    meter.addBatchObservableCallback(this.#report, [...this.#gauges.values()])
  }

  add(name: MetricName, labels: readonly string[], by = 1): void {
    this.#counts.get(name)?.(attributes(name, labels), by)
  }

  observe(name: MetricName, labels: readonly string[], ms: number): void {
    this.#counts.get(name)?.(attributes(name, labels), Math.max(0, ms) / 1000)
  }

  set(name: GaugeName, _labels: readonly string[], value: number): void {
    this.#set.set(name, value)
  }

  end(): void {
    this.#meter.removeBatchObservableCallback(this.#report, [...this.#gauges.values()])
  }

  #create(name: MetricName): void {
    const { kind, help } = metrics[name]
    const options = { description: help, ...(name.endsWith('_seconds') && { unit: 's' }) }
    if (kind === 'gauge') this.#gauges.set(name, this.#meter.createObservableGauge(name, options))
    else if (kind === 'counter') {
      const counter = this.#meter.createCounter(name, options)
      this.#counts.set(name, (labels, by) => counter.add(by, labels))
    } else {
      const advice = { explicitBucketBoundaries: [...boundsSeconds] }
      const histogram = this.#meter.createHistogram(name, { ...options, advice })
      this.#counts.set(name, (labels, seconds) => histogram.record(seconds, labels))
    }
  }

  readonly #report: Parameters<Meter['addBatchObservableCallback']>[0] = async (result) => {
    // While the store is away, its gauges are left out.
    const stored = await this.#levels.stored().catch(() => [])
    const set = Array.from(this.#set, ([name, value]) => ({ name, labels: [], value }))
    for (const { name, labels, value } of [...stored, ...this.#levels.own(), ...set]) {
      const gauge = this.#gauges.get(name)
      if (gauge) result.observe(gauge, value, attributes(name, labels))
    }
  }
}

function attributes(name: MetricName, values: readonly string[]): Attributes {
  return Object.fromEntries(metrics[name].labels.map((label, at) => [label, values[at]]))
}
