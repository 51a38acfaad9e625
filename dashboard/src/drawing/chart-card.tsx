import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import { Button } from '../part/button.tsx'
import { Chart } from './chart.tsx'
import type { ChartSpec } from './figures.ts'

interface ChartCardProps {
  readonly title: string
  readonly value: string
  readonly isAlarming?: boolean
  readonly chart: ChartSpec
  /** Class of the swatch, and the word. */
  readonly legend: readonly (readonly [string, string])[]
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** A chart, its current value, and the same as a table: a canvas cannot be read aloud. */
export function ChartCard({ title, value, isAlarming, chart, legend, head, rows }: ChartCardProps): VNode {
  const isTable = useSignal(false)
  return (
    <section class="card chart" aria-label={title}>
      <div class="hd">
        <h3>{title}</h3>
        <span class={`v ${isAlarming ? 'time' : ''}`}>{value}</span>
        <Button
          kind="ghost"
          isSmall
          icon="table"
          label={isTable.value ? 'Show as chart' : 'Show as table'}
          onClick={() => {
            isTable.value = !isTable.value
          }}
          class="tiny only-desk"
        />
      </div>
      {isTable.value ? (
        <div class="plot scroll" tabIndex={0}>
          <table class="tbl tight">
            <thead>
              <tr>
                {head.map((name) => (
                  <th key={name}>{name}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.toReversed().map((row) => (
                <tr key={row[0]}>
                  {row.map((cell, at) => (
                    <td key={head[at]}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <Chart spec={chart} label={`${title}: ${value}`} />
      )}
      <div class="ft">
        {legend.map(([swatch, word]) => (
          <span key={word}>
            {swatch && <i class={swatch} />}
            {word}
          </span>
        ))}
      </div>
    </section>
  )
}
