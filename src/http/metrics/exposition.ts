import { boundsSeconds, type Metric, type MetricName, type MetricSink, metrics } from '../../client/metrics/metric.ts'

interface Series {
  readonly labels: string
  value: number
  /** Of a histogram: how many values fell into each bucket alone. */
  readonly buckets: number[]
  count: number
}

/** Keeps measurements, and writes them in the text format of Prometheus. */
export class Exposition implements MetricSink {
  readonly #series = new Map<MetricName, Map<string, Series>>()

  add(name: MetricName, labels: readonly string[], by = 1): void {
    this.#of(name, labels).value += by
  }

  set(name: MetricName, labels: readonly string[], value: number): void {
    this.#of(name, labels).value = value
  }

  observe(name: MetricName, labels: readonly string[], ms: number): void {
    const series = this.#of(name, labels)
    const seconds = Math.max(0, ms) / 1000
    const at = boundsSeconds.findIndex((bound) => seconds <= bound)
    series.value += seconds
    series.count += 1
    if (at >= 0) series.buckets[at] = (series.buckets[at] ?? 0) + 1
  }

  /** Leaves gauges out of the next text, until they are set again. */
  forget(names: Iterable<MetricName>): void {
    for (const name of names) this.#series.delete(name)
  }

  text(): string {
    return Object.entries(metrics)
      .map(([name, metric]) => this.#family(name as MetricName, metric))
      .join('')
  }

  #family(name: MetricName, { kind, help }: Metric): string {
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`]
    for (const series of this.#series.get(name)?.values() ?? [])
      if (kind === 'histogram') lines.push(...histogramLines(name, series))
      else lines.push(`${name}${braced(series.labels)} ${series.value}`)
    return `${lines.join('\n')}\n`
  }

  #of(name: MetricName, labels: readonly string[]): Series {
    const all = this.#series.get(name) ?? new Map<string, Series>()
    this.#series.set(name, all)
    const key = labels.join('\n')
    const known = all.get(key)
    if (known) return known
    const series = { labels: labelText(metrics[name].labels, labels), value: 0, buckets: [], count: 0 }
    all.set(key, series)
    return series
  }
}

function histogramLines(name: string, { labels, value, buckets, count }: Series): string[] {
  const before = labels === '' ? '' : `${labels},`
  let upTo = 0
  const lines = boundsSeconds.map((bound, at) => {
    upTo += buckets[at] ?? 0
    return `${name}_bucket{${before}le="${bound}"} ${upTo}`
  })
  return [
    ...lines,
    `${name}_bucket{${before}le="+Inf"} ${count}`,
    `${name}_sum${braced(labels)} ${value}`,
    `${name}_count${braced(labels)} ${count}`,
  ]
}

function labelText(names: readonly string[], values: readonly string[]): string {
  return names.map((name, at) => `${name}="${escaped(values[at] ?? '')}"`).join(',')
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
