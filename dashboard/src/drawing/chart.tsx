import { effect } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../shell/theme.ts'
import { pageZone } from '../time/zone.ts'
import { clockText } from '../time/zoned.ts'
import type { ChartSpec } from './figures.ts'
import { useWidth } from './width.ts'

const height = 124

/** A time series, drawn by uPlot in the colours of the theme. */
export function Chart({ spec, label }: { spec: ChartSpec; label: string }): VNode {
  const { ref, element, width } = useWidth<HTMLDivElement>()
  useEffect(() => {
    if (width === 0) return
    let plot: uPlot | null = null
    const stop = effect(() => {
      void theme.value
      const zone = pageZone.value
      plot?.destroy()
      plot = new uPlot(options(spec, width, zone), spec.data, element.current!)
    })
    return () => {
      stop()
      plot?.destroy()
    }
  }, [spec, width])
  return <div class="plot" ref={ref} role="img" aria-label={label} />
}

function options(spec: ChartSpec, width: number, zone: string): uPlot.Options {
  const style = getComputedStyle(document.body)
  const colour = (name: string) => resolved(style, name)
  const bars = uPlot.paths.bars!({ size: [0.86, 40], align: 1, radius: 0.05 })
  const { axes = [], ...rest } = spec.options(colour, bars)
  const font = `450 11px ${style.fontFamily}`
  const shared: Partial<uPlot.Axis> = {
    font,
    stroke: colour('--muted-foreground'),
    ticks: { show: false },
    gap: 4,
    grid: { stroke: colour('--border'), width: 1 },
  }
  return {
    width,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    ...rest,
    axes: axes.map((axis, at) => ({
      ...shared,
      ...(at === 0 && {
        size: 22,
        space: 70,
        grid: { show: false },
        values: (_: uPlot, all: number[]) => all.map((second) => clockText(second * 1000, zone)),
      }),
      ...(at === 1 && { size: 40 }),
      ...axis,
    })),
  }
}

/** The value of a token: `light-dark()` is resolved by asking what a property computed from it. */
function resolved(style: CSSStyleDeclaration, name: string): string {
  const probe = document.createElement('i')
  probe.className = 'sprite'
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color || style.color
}
