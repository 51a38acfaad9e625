import type { VNode } from 'preact'
import type { WireOverview } from '../../../../src/http/wire.ts'
import { later } from '../../part/later.tsx'

const FigureCharts = later(() => import('./figure-charts.tsx').then((module) => module.FigureCharts))

/** The charts come after the first screen: their library is a third of it. */
export function Charts({ overview }: { overview: WireOverview }): VNode {
  return <FigureCharts overview={overview} />
}
