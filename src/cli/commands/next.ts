import { Argument, type Command, Option } from 'commander'
import { PunctualError } from '../../errors.ts'
import { bind } from '../../schedule/interval.ts'
import { type LintWarning, lint } from '../../schedule/lint.ts'
import { parseSchedule } from '../../schedule/parse-text.ts'
import { type ClockMark, type PreviewRow, preview } from '../../schedule/preview.ts'
import type { Schedule } from '../../schedule/schedule.ts'
import { zoneOf } from '../../schedule/schedule-zone.ts'
import { dayFromCivil, isDate } from '../../time/civil.ts'
import { isoText, parseInstant } from '../../time/instant.ts'
import { startOfDay } from '../../time/local-time.ts'
import { type Zone, zoneNamed } from '../../time/zone.ts'
import { example, jsonOption, whole } from '../options.ts'
import { print, printJson, styled, table } from '../print.ts'

interface NextFlags {
  tz?: string
  count: number
  from?: string
  json?: true
}

export function addNext(root: Command): void {
  root
    .command('next')
    .description('Show the next instants of a schedule, with warnings about likely mistakes. Needs no store.')
    .addArgument(
      new Argument('<schedule>', 'cron text, a duration such as 15m, an ISO 8601 interval, an RFC 5545 rule, or an instant'),
    )
    .addOption(new Option('--tz <zone>', 'the time zone, such as Europe/Warsaw; else that of the rule, or UTC'))
    .addOption(new Option('--count <number>', 'how many').argParser(whole(1, 1000)).default(10))
    .addOption(new Option('--from <when>', 'from this instant on, or from the start of this day in the zone; else from now on'))
    .addOption(jsonOption())
    .addHelpText('after', example('punctual next "0 2 * * *" --tz Europe/Warsaw --count 10 --from 2026-10-24'))
    .action((text: string, flags: NextFlags) => next(text, flags))
}

function next(text: string, { tz, count, from: fromText, json }: NextFlags): void {
  const parsed = parseSchedule(text, tz === undefined ? {} : { timezone: tz })
  const zone = tz === undefined ? zoneOf(parsed) : zoneNamed(tz, '--tz')
  const from = fromText === undefined ? Date.now() : parseFrom(fromText, zone)
  const schedule = bind(parsed, from)
  // A bare duration counts from `from`, as a job created then would; any other schedule may have an instant right at it.
  const rows = preview(schedule, schedule === parsed ? from - 1 : from, count, zone)
  const warnings = lint(schedule, from - 1)
  if (json)
    printJson({
      schedule: parsed.toJSON(),
      description: parsed.describe(),
      zone: zone.name,
      from: isoText(from),
      instants: rows,
      warnings,
    })
  else print(page(parsed, rows, warnings))
}

/** An instant, or a day: then its first instant on the wall of the zone. */
function parseFrom(text: string, zone: Zone): number {
  const [, year, month, date] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? []
  if (year === undefined || month === undefined || date === undefined) return parseInstant(text, '--from')
  if (isDate(year, month, date)) return startOfDay(zone, dayFromCivil(year, month, date))
  throw new PunctualError('instant.invalid', `--from must be a day that the calendar has; got ${text}`, {
    field: '--from',
    given: text,
  })
}

const clockNotes: Readonly<Record<ClockMark, string>> = {
  'after-gap': 'the clock has just gone forward',
  'first-pass': 'shown twice: first time',
  'second-pass': 'shown twice: second time',
  changed: 'the offset has changed',
}

function page(schedule: Schedule, rows: readonly PreviewRow[], warnings: readonly LintWarning[]): string {
  const cells = rows.map(({ weekday, local, utc, offset, mark }) => [
    `${weekday} ${local.replace('T', ' ')}`,
    utc,
    offset,
    mark ? clockNotes[mark] : '',
  ])
  const parts = [
    schedule.describe(),
    ...(rows.length > 0 ? [table(['LOCAL', 'UTC', 'OFFSET', 'CLOCK'], cells)] : []),
    ...(warnings.length > 0 ? [warnings.map(warningLine).join('\n')] : []),
  ]
  return parts.join('\n\n')
}

function warningLine({ message, at }: LintWarning): string {
  return `${styled('yellow', 'warning:')} ${message}${at === undefined ? '' : ` First at ${at}.`}`
}
