import type { VNode } from 'preact'
import type { WireTaskRun } from '../../../src/http/wire.ts'
import { counted } from '../data/count.ts'
import { duration } from '../time/duration.ts'
import { afterOf, placeNodes } from './graph-layout.ts'
import { taskMarks } from './waterfall.tsx'
import { useWidth } from './width.ts'

const nodeHeight = 46
const rowHeight = 66

/** The tasks and what each waits for, with what became of them. */
export function TaskGraph({
  tasks,
  mode,
  version,
}: {
  tasks: readonly WireTaskRun[]
  mode: string
  version: number
}): VNode | null {
  const { ref, width } = useWidth<HTMLDivElement>()
  if (tasks.length < 2) return null
  const nodes = afterOf(tasks, mode)
  const { placed, columns, rows } = placeNodes(nodes)
  const room = Math.max(width - 33, columns * 130 + (columns - 1) * 28)
  const nodeWidth = Math.min(166, (room - (columns - 1) * 28) / columns)
  const gap = columns > 1 ? (Math.min(room, columns * 240) - nodeWidth * columns) / (columns - 1) : 0
  const height = rows * rowHeight - (rowHeight - nodeHeight)
  const inColumn = (column: number) => placed.filter((one) => one.column === column).length
  const spot = (name: string) => {
    const { column, row } = placed.find((one) => one.name === name)!
    return { x: column * (nodeWidth + gap), y: row * rowHeight + ((rows - inColumn(column)) * rowHeight) / 2 }
  }
  const total = columns * nodeWidth + (columns - 1) * gap
  return (
    <section class="card" aria-label="Tasks">
      <header>
        <h2>Tasks</h2>
        <span class="dim">
          {tasks.length}, {mode}
          {version > 0 && ` of version ${version}`}
        </span>
      </header>
      <div class="graph" ref={ref} tabIndex={0}>
        {width > 0 && (
          <svg
            width={total + 2}
            height={height + 2}
            role="img"
            aria-label={`Task graph: ${tasks.map(({ name, state }) => `${name} ${state}`).join(', ')}`}
          >
            {nodes.flatMap(({ name, after }) =>
              after
                .filter((before) => placed.some((one) => one.name === before))
                .map((before) => {
                  const a = spot(before)
                  const b = spot(name)
                  const middle = a.x + nodeWidth + (b.x - a.x - nodeWidth) / 2
                  const [y1, y2] = [a.y + nodeHeight / 2, b.y + nodeHeight / 2]
                  return (
                    <g key={`${before}>${name}`}>
                      <path class="ge" d={`M${a.x + nodeWidth} ${y1}C${middle} ${y1} ${middle} ${y2} ${b.x - 5} ${y2}`} />
                      <path class="ge" d={`M${b.x - 8} ${y2 - 3.5}l4 3.5l-4 3.5`} />
                    </g>
                  )
                }),
            )}
            {tasks.map((task) => {
              const { x, y } = spot(task.name)
              const mark = taskMarks[task.state] ?? 'pending'
              return (
                <g key={task.name}>
                  <rect
                    class={`gn ${mark === 'failed' ? 'bad' : ''}`}
                    x={x + 0.5}
                    y={y + 0.5}
                    width={nodeWidth}
                    height={nodeHeight}
                    rx={6}
                  />
                  <svg class={`g s-${mark}`} x={x + 10} y={y + 9} width={12} height={12}>
                    <use href={`#s-${mark}`} />
                  </svg>
                  <text class="gt" x={x + 28} y={y + 19}>
                    {task.name.length > 18 ? `${task.name.slice(0, 17)}…` : task.name}
                  </text>
                  <text class="gs" x={x + 28} y={y + 36}>
                    {taskHint(task)}
                  </text>
                </g>
              )
            })}
          </svg>
        )}
      </div>
    </section>
  )
}

function taskHint({ state, attempts, startedAt, endedAt }: WireTaskRun): string {
  const lost = attempts.filter((attempt) => attempt.state === 'lost' || attempt.state === 'stale').length
  const tries = attempts.length - lost
  if (state === 'failed' || state === 'timeout') return `${counted(tries, 'try', 'tries')}${lost > 0 ? `, ${lost} lost` : ''}`
  if (state === 'succeeded' && startedAt && endedAt) {
    const last = attempts.at(-1)
    return `${tries > 1 ? `${tries} tries, ` : ''}${duration(last?.durationMs ?? Date.parse(endedAt) - Date.parse(startedAt))}`
  }
  return state
}
