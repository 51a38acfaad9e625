import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { WireCalendar } from '../../../src/http/wire.ts'
import { Cross, px, Triangle } from './shapes.tsx'
import { useWidth } from './width.ts'

type Cell = WireCalendar['cells'][number]

const left = 124
const right = 88
const rowHeight = 26
const top = 26
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

interface Day {
  readonly date: string
  readonly cells: readonly Cell[]
}

const ranIn = ({ completed, failed }: Cell): number => completed + failed
export const runsIn = (cell: Cell): number => ranIn(cell) + cell.missed + cell.coming

/** Days as rows, hours as columns: the area of a square is the number of runs; past solid, future hollow. */
export function CalendarGrid({
  calendar,
  selected,
  onSelect,
}: {
  calendar: WireCalendar
  selected: string | null
  onSelect: (cell: Cell) => void
}): VNode {
  const { ref, width } = useWidth<HTMLDivElement>()
  const days = byDay(calendar.cells)
  const peak = Math.max(1, ...calendar.cells.map(runsIn))
  const now = Date.parse(calendar.now)
  const column = (Math.max(720, width) - left - right) / 24
  const box = useRef<HTMLDivElement>(null)
  const hour = calendar.cells.find(({ at, to }) => Date.parse(at) <= now && now < Date.parse(to))?.hour
  // A narrow screen shows some of the hours: those around now.
  useEffect(() => {
    if (box.current && hour !== undefined) box.current.scrollLeft = left + column * (hour + 0.5) - box.current.clientWidth / 2
  }, [width > 0, hour])
  return (
    <div class="cal" tabIndex={0} ref={box}>
      <div class="plot" ref={ref}>
        {width > 0 && <DayNames days={days} now={now} />}
        {width > 0 && (
          <svg
            width={Math.max(720, width)}
            height={top + days.length * rowHeight + 2}
            role="group"
            aria-label="Runs by day and hour"
          >
            {Array.from({ length: 24 }, (_, hour) => (
              <text key={hour} class="t" x={px(left + column * (hour + 0.5))} y={15} text-anchor="middle">
                {String(hour).padStart(2, '0')}
              </text>
            ))}
            <text class="t" x={Math.max(720, width) - 2} y={15} text-anchor="end">
              runs
            </text>
            {days.map((day, at) => (
              <DayRow
                key={day.date}
                day={day}
                y={top + at * rowHeight}
                column={column}
                width={Math.max(720, width)}
                peak={peak}
                now={now}
                selected={selected}
                onSelect={onSelect}
                isFirst={at === 0}
              />
            ))}
          </svg>
        )}
      </div>
    </div>
  )
}

function byDay(cells: readonly Cell[]): Day[] {
  const days = new Map<string, Cell[]>()
  for (const cell of cells) days.set(cell.date, [...(days.get(cell.date) ?? []), cell])
  return [...days].map(([date, own]) => ({ date, cells: own }))
}

/** Stands still at the left while the hours scroll. */
function DayNames({ days, now }: { days: readonly Day[]; now: number }): VNode {
  return (
    <svg class="days" width={left - 10} height={top + days.length * rowHeight + 2}>
      {days.map((day, at) => {
        const date = new Date(`${day.date}T12:00:00Z`)
        const isToday = isOn(day, now)
        const y = top + at * rowHeight
        return (
          <g key={day.date}>
            {isToday && <rect class="today" x={0} y={y} width={left + 10} height={rowHeight} rx={4} />}
            {date.getUTCDay() === 1 && at > 0 && <path class="rule" d={`M0 ${y + 0.5}H${left}`} />}
            <text class={`t ${isToday ? 't-strong' : ''}`} x={8} y={y + 17}>
              {weekdays[date.getUTCDay()]} {date.getUTCDate()} {months[date.getUTCMonth()]}
              {isToday && ', now'}
            </text>
          </g>
        )
      })}
    </svg>
  )
}

function isOn({ cells }: Day, now: number): boolean {
  return cells.some(({ at, to }) => Date.parse(at) <= now && now < Date.parse(to))
}

interface DayRowProps {
  readonly day: Day
  readonly y: number
  readonly column: number
  readonly width: number
  readonly peak: number
  readonly now: number
  readonly selected: string | null
  readonly onSelect: (cell: Cell) => void
  readonly isFirst: boolean
}

function DayRow({ day, y, column, width, peak, now, selected, onSelect, isFirst }: DayRowProps): VNode {
  const date = new Date(`${day.date}T12:00:00Z`)
  const isToday = isOn(day, now)
  const total = day.cells.reduce((sum, cell) => sum + runsIn(cell), 0)
  const today = day.cells.find(({ at, to }) => Date.parse(at) <= now && now < Date.parse(to))
  return (
    <g>
      {isToday && <rect class="today" x={0} y={y} width={width} height={rowHeight} rx={4} />}
      {date.getUTCDay() === 1 && !isFirst && <path class="rule" d={`M0 ${y + 0.5}H${width}`} />}
      {day.cells.map((cell) => (
        <CellShape
          key={cell.at}
          cell={cell}
          cx={left + column * (cell.hour + 0.5)}
          cy={y + rowHeight / 2}
          column={column}
          peak={peak}
          isTwice={day.cells.filter(({ hour }) => hour === cell.hour).length > 1}
          isSelected={selected === cell.at}
          onSelect={() => onSelect(cell)}
        />
      ))}
      {day.cells.length !== 24 && (
        <text class="t" x={width - 44} y={y + 17} text-anchor="end">
          {day.cells.length} h
        </text>
      )}
      <text class={`t ${isToday ? 't-strong' : ''}`} x={width - 2} y={y + 17} text-anchor="end">
        {total.toLocaleString('en-US')}
      </text>
      {today && (
        <path
          class="now"
          d={`M${px(left + column * (today.hour + (now - Date.parse(today.at)) / (Date.parse(today.to) - Date.parse(today.at))))} ${y}v${rowHeight}`}
        />
      )}
    </g>
  )
}

function CellShape({
  cell,
  cx,
  cy,
  column,
  peak,
  isTwice,
  isSelected,
  onSelect,
}: {
  cell: Cell
  cx: number
  cy: number
  column: number
  peak: number
  isTwice: boolean
  isSelected: boolean
  onSelect: () => void
}): VNode {
  const side = (count: number) => Math.min(rowHeight - 4, column - 4, Math.max(4, Math.sqrt(count / peak) * (rowHeight - 2)))
  const ran = ranIn(cell)
  const x = isTwice ? cx + (cell.repeated ? 5.4 : -5.4) : cx
  const [wide, tall] = isTwice ? [8.6, 16] : [side(Math.max(ran, cell.coming)), side(Math.max(ran, cell.coming))]
  const label = `${cell.date} ${String(cell.hour).padStart(2, '0')}:00${cell.repeated ? ', second pass' : ''}: ${ran} ran, ${cell.failed} failed, ${cell.missed} missed, ${cell.coming} to come`
  return (
    <g
      class="cell"
      role="button"
      tabIndex={-1}
      aria-label={label}
      onClick={onSelect}
      onKeyDown={(event) => event.key === 'Enter' && onSelect()}
    >
      <title>{label}</title>
      <rect class="hit" x={px(cx - column / 2)} y={cy - rowHeight / 2} width={px(column)} height={rowHeight} />
      {ran === 0 && cell.coming > 0 && (
        <rect
          class="m-pending"
          x={px(x - wide / 2 + 0.6)}
          y={px(cy - tall / 2 + 0.6)}
          width={px(Math.max(3, wide - 1.2))}
          height={px(Math.max(3, tall - 1.2))}
          rx={1.5}
        />
      )}
      {ran > 0 && (
        <rect
          class={cell.coming > 0 ? 'm-running' : 'm-completed'}
          x={px(x - wide / 2)}
          y={px(cy - tall / 2)}
          width={px(wide)}
          height={px(tall)}
          rx={1.5}
        />
      )}
      {cell.failed > 0 && <Cross x={x} y={cy} size={3.4} />}
      {cell.missed > 0 && <Triangle x={x} y={cy} kind="k-missed" size={5} />}
      {isSelected && (
        <rect
          class="chosen"
          x={px(cx - column / 2 + 1.5)}
          y={cy - rowHeight / 2 + 1}
          width={px(column - 3)}
          height={rowHeight - 2}
          rx={4}
        />
      )}
    </g>
  )
}
