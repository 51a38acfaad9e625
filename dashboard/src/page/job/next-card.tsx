import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireSchedulePreview } from '../../../../src/http/wire.ts'
import { into } from '../../data/into.ts'
import { Segments } from '../../part/button.tsx'
import { Command } from '../../part/command.tsx'
import { Icon } from '../../part/icon.tsx'
import { Empty } from '../../part/screen.tsx'
import { Ago } from '../../part/time.tsx'

interface NextCardProps {
  readonly given: { readonly text: string; readonly timezone: string }
  readonly current: WireSchedulePreview | undefined
  readonly draft: WireSchedulePreview | undefined
  readonly isChanged: boolean
}

/** The next 10 instants, of the draft beside the current ones, and the next clock change. */
export function NextCard({ given, current, draft, isChanged }: NextCardProps): VNode {
  const view = useSignal<'current' | 'draft' | 'both'>('both')
  return (
    <section class="card" aria-label="Next 10">
      <header>
        <h2>Next 10</h2>
        <span class="dim only-desk">{given.timezone}</span>
        {isChanged && (
          <div class="end">
            <Segments
              label="Which schedule"
              value={view.value}
              values={[
                ['current', 'Current'],
                ['draft', 'Draft'],
                ['both', 'Both'],
              ]}
              onChange={into(view)}
            />
          </div>
        )}
      </header>
      {(view.value === 'current' ? current : (draft ?? current))?.next.length === 0 && (
        <Empty title="It never fires.">No instant was found from here on.</Empty>
      )}
      <NextTable current={current} draft={draft} view={isChanged ? view.value : 'current'} />
      <div class="card-foot">
        <Command words={['punctual', 'next', given.text, '--tz', given.timezone, '--count', '10']} />
      </div>
    </section>
  )
}

const markText = {
  'after-gap': 'The clock goes forward over it: it runs right after the gap.',
  'first-pass': 'The clock goes back: this is the first of two passes.',
  'second-pass': 'The clock goes back: this is the second of two passes.',
  changed: 'The clock has changed since the instant before.',
} as const

type Change = NonNullable<WireSchedulePreview['clockChange']>

/** The effect of the next clock change on the schedule. */
function changeText({ from, to, rows }: Change, clocks: readonly string[]): string {
  const isForward = to > from === !from.startsWith('-')
  const is = (mark: PreviewRow['mark']) => rows.some((row) => row.mark === mark)
  const isMoved = rows.some((row) => row.mark === 'after-gap' && !clocks.includes(clockOf(row)))
  const what = `The next clock change goes ${isForward ? 'forward' : 'back'}, from ${from} to ${to}.`
  if (isMoved) return `${what} Its time does not exist on that day: it runs right after the gap.`
  if (is('first-pass') && is('second-pass')) return `${what} Its time comes twice, and it runs both times.`
  if (is('first-pass') || is('second-pass')) return `${what} Its time comes twice, and it runs once.`
  return `${what} It keeps its time on the wall.`
}

function NextTable({
  current,
  draft,
  view,
}: {
  current: WireSchedulePreview | undefined
  draft: WireSchedulePreview | undefined
  view: 'current' | 'draft' | 'both'
}): VNode {
  const main = (view === 'current' ? current : (draft ?? current))?.next ?? []
  const beside = view === 'both' && draft ? current?.next : undefined
  const change = (view === 'current' ? current : (draft ?? current))?.clockChange
  const last = main.at(-1)
  const isFar = change && last && change.at > last.at
  return (
    <table class="tbl tight cards">
      <thead>
        <tr>
          <th>
            <span class="sr">Number</span>
          </th>
          <th>
            Local
            {beside && (
              <>
                : <span class="was">current</span>, <b>draft</b>
              </>
            )}
          </th>
          <th>UTC</th>
          <th class="num">From now</th>
        </tr>
      </thead>
      <tbody>
        {main.map((row, at) => (
          <InstantRow key={row.at} number={String(at + 1)} row={row} was={beside?.[at]} />
        ))}
        {isFar && change.rows[0] && (
          <InstantRow
            number="…"
            row={change.rows.find(({ mark }) => mark !== null) ?? change.rows[0]}
            note={changeText(change, main.map(clockOf))}
          />
        )}
      </tbody>
    </table>
  )
}

type PreviewRow = WireSchedulePreview['next'][number]

function InstantRow({
  number,
  row,
  was,
  note,
}: {
  number: string
  row: PreviewRow
  was?: PreviewRow | undefined
  note?: string
}): VNode {
  const clock = clockOf(row)
  const text = note ?? (row.mark ? markText[row.mark] : null)
  const wasClock = was && clockOf(was)
  return (
    <>
      <tr class={text ? 'clk' : ''}>
        <td class="dim num hide">{number}</td>
        <td class="nw grow">
          {row.weekday.slice(0, 3)} {dayOf(row.local)}{' '}
          {wasClock && wasClock !== clock && <span class="was">{trim(wasClock)}</span>} <b class="strong">{trim(clock)}</b>{' '}
          <span class="dim">{row.offset}</span>
        </td>
        <td class="nw dim mono hide">{row.at.slice(11, 16)}Z</td>
        <td class="nw dim num">
          <Ago at={row.at} />
        </td>
      </tr>
      {text && (
        <tr class="clk clkn">
          <td class="hide" />
          <td colSpan={3} class="full">
            <span class="clock">
              <Icon name="clock" size={13} />
              <span>{text}</span>
            </span>
          </td>
        </tr>
      )}
    </>
  )
}

const clockOf = ({ local }: PreviewRow) => local.split(/[T ]/)[1] ?? local
const trim = (clock: string) => clock.replace(/:00$/, '').replace(/\.\d+$/, '')

function dayOf(local: string): string {
  const [, month = '1', day = '1'] = /^\d+-(\d+)-(\d+)/.exec(local) ?? []
  return `${Number(day)} ${['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][Number(month) - 1]}`
}
