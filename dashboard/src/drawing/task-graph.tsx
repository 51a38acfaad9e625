import type { VNode } from 'preact'
import type { WireTaskRun } from '../../../src/http/wire.ts'
import { counted } from '../data/count.ts'
import { duration } from '../time/duration.ts'
import { afterOf, type PlacedNode, placeNodes } from './graph-layout.ts'
import { taskMarks } from './waterfall.tsx'
import { useWidth } from './width.ts'

const nodeHeight = 46
const rowHeight = 66

const modeWords: Readonly<Record<string, string>> = {
  sequential: 'one after another',
  parallel: 'side by side',
  graph: 'in a graph',
}

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
  // A narrow screen has the ways run down instead of to the right, where the widest rank fits.
  const isDown = width > 0 && width - 33 < columns * 130 + (columns - 1) * 28
  const { spot, nodeWidth, total, height } = isDown
    ? placesDown(placed, { room: width - 33, columns, rows })
    : placesAcross(placed, { room: width - 33, columns, rows })
  return (
    <section class="card" aria-label="Tasks">
      <header>
        <h2>Tasks</h2>
        <span class="dim">
          {tasks.length} {modeWords[mode] ?? mode}
          {version > 0 && `, version ${version}`}
        </span>
      </header>
      <div class="graph" ref={ref} tabIndex={0}>
        {width > 0 && (
          <svg
            width={total + 2}
            height={height + 2}
            class={isDown ? 'down' : ''}
            role="img"
            aria-label={`Task graph: ${tasks.map(({ name, state }) => `${name} ${state}`).join(', ')}`}
          >
            {nodes.flatMap(({ name, after }) =>
              after
                .filter((before) => placed.some((one) => one.name === before))
                .map((before) => {
                  const a = spot(before)
                  const b = spot(name)
                  return (
                    <g key={`${before}>${name}`}>
                      <path class="ge" d={isDown ? wayDown(a, b, nodeWidth) : wayAcross(a, b, nodeWidth)} />
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
                    {cutName(task.name, nodeWidth)}
                    <title>{task.name}</title>
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

interface Spot {
  readonly x: number
  readonly y: number
}
interface Places {
  readonly spot: (name: string) => Spot
  readonly nodeWidth: number
  readonly total: number
  readonly height: number
}
interface Extent {
  readonly room: number
  readonly columns: number
  readonly rows: number
}

/** Ranks from left to right. */
function placesAcross(placed: readonly PlacedNode[], { room: given, columns, rows }: Extent): Places {
  const room = Math.max(given, columns * 130 + (columns - 1) * 28)
  const nodeWidth = Math.min(190, (room - (columns - 1) * 28) / columns)
  const gap = columns > 1 ? (Math.min(room, columns * 260) - nodeWidth * columns) / (columns - 1) : 0
  const spot = (name: string) => {
    const { column, row } = placed.find((one) => one.name === name)!
    const inColumn = placed.filter((one) => one.column === column).length
    return { x: column * (nodeWidth + gap), y: row * rowHeight + ((rows - inColumn) * rowHeight) / 2 }
  }
  return {
    spot,
    nodeWidth,
    total: columns * nodeWidth + (columns - 1) * gap,
    height: rows * rowHeight - (rowHeight - nodeHeight),
  }
}

/** Ranks from top to bottom. */
function placesDown(placed: readonly PlacedNode[], { room, columns, rows }: Extent): Places {
  const gap = 10
  const nodeWidth = Math.max(110, Math.min(220, (room - (rows - 1) * gap) / rows))
  const total = Math.max(room, rows * nodeWidth + (rows - 1) * gap)
  const spot = (name: string) => {
    const { column, row } = placed.find((one) => one.name === name)!
    const inColumn = placed.filter((one) => one.column === column).length
    const wide = inColumn * nodeWidth + (inColumn - 1) * gap
    return { x: (total - wide) / 2 + row * (nodeWidth + gap), y: column * (rowHeight + 6) }
  }
  return { spot, nodeWidth, total, height: columns * (rowHeight + 6) - (rowHeight + 6 - nodeHeight) }
}

function wayAcross(a: Spot, b: Spot, nodeWidth: number): string {
  const middle = a.x + nodeWidth + (b.x - a.x - nodeWidth) / 2
  const [y1, y2] = [a.y + nodeHeight / 2, b.y + nodeHeight / 2]
  return `M${a.x + nodeWidth} ${y1}C${middle} ${y1} ${middle} ${y2} ${b.x - 5} ${y2}M${b.x - 8} ${y2 - 3.5}l4 3.5l-4 3.5`
}

function wayDown(a: Spot, b: Spot, nodeWidth: number): string {
  const [x1, x2] = [a.x + nodeWidth / 2, b.x + nodeWidth / 2]
  const [y1, y2] = [a.y + nodeHeight, b.y]
  const middle = y1 + (y2 - y1) / 2
  return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2 - 5}M${x2 - 3.5} ${y2 - 8}l3.5 4l3.5 -4`
}

/** About 6.6 px for each character, beside the glyph. */
function cutName(name: string, nodeWidth: number): string {
  const fits = Math.floor((nodeWidth - 36) / 6.6)
  return name.length > fits ? `${name.slice(0, fits - 1)}…` : name
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
