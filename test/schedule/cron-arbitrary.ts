import fc from 'fast-check'

/** A random cron text together with its meaning, said in the plainest way: which values and which dates match. */
export interface CronCase {
  readonly text: string
  readonly seconds: ReadonlySet<number>
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  /** Whether second, minute or hour has a star, a range or a step. */
  readonly isInterval: boolean
  matchesDate(wall: number): boolean
}

interface Field {
  readonly text: string
  readonly values: ReadonlySet<number>
  readonly isInterval: boolean
  /** Days that depend on the month; for the two day fields. */
  readonly special: readonly ((wall: number) => boolean)[]
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/** Cron texts that use the whole syntax, biased towards those that match on most days. */
export function cronCase(): fc.Arbitrary<CronCase> {
  return fc
    .record({
      second: fc.option(second, { freq: 2 }),
      minute: field(0, 59),
      hour: field(0, 23),
      day: fc.oneof({ weight: 3, arbitrary: any }, { weight: 2, arbitrary: field(1, 31, [], dayOfMonthSpecial()) }),
      month: fc.oneof({ weight: 4, arbitrary: any }, { weight: 1, arbitrary: field(1, 12, months) }),
      weekday: fc.oneof({ weight: 3, arbitrary: any }, { weight: 2, arbitrary: field(0, 7, weekdays, dayOfWeekSpecial()) }),
    })
    .map(({ second, minute, hour, day, month, weekday }) => {
      const fields = [minute, hour, day, month, weekday]
      return {
        text: (second ? [second, ...fields] : fields).map((each) => each.text).join(' '),
        seconds: second ? all(second, 0, 59) : new Set([0]),
        minutes: all(minute, 0, 59),
        hours: all(hour, 0, 23),
        isInterval: [second, minute, hour].some((each) => each?.isInterval),
        matchesDate: (wall) => matchesDate(wall, day, month, weekday),
      }
    })
}

// Few seconds per minute: the field is read like minutes, and each second found costs time.
const second: fc.Arbitrary<Field> = fc
  .constantFrom(
    { text: '0', values: [0], isInterval: false },
    { text: '7,59', values: [7, 59], isInterval: false },
    { text: '*/30', values: [0, 30], isInterval: true },
    { text: '29-31', values: [29, 30, 31], isInterval: true },
    { text: '58-1', values: [58, 59, 0, 1], isInterval: true },
  )
  .map((each) => ({ ...each, values: new Set(each.values), special: [] }))

const any: fc.Arbitrary<Field> = fc
  .constantFrom('*', '?')
  .map((text) => ({ text, values: new Set<number>(), isInterval: true, special: [] }))

/** A field that is `*` or `?` restricts nothing. */
function isAny(field: Field): boolean {
  return field.text === '*' || field.text === '?'
}

function all(field: Field, first: number, last: number): ReadonlySet<number> {
  return isAny(field) ? new Set(Array.from({ length: last - first + 1 }, (_, i) => first + i)) : field.values
}

function matchesDate(wall: number, day: Field, month: Field, weekday: Field): boolean {
  const date = new Date(wall)
  if (!isAny(month) && !month.values.has(date.getUTCMonth() + 1)) return false
  const byDay = day.values.has(date.getUTCDate()) || day.special.some((matches) => matches(wall))
  const byWeekday = weekday.values.has(date.getUTCDay()) || weekday.special.some((matches) => matches(wall))
  if (isAny(day)) return isAny(weekday) || byWeekday
  return isAny(weekday) ? byDay : byDay || byWeekday
}

type Item = Field

function field(first: number, last: number, names: readonly string[] = [], special?: fc.Arbitrary<Item>): fc.Arbitrary<Field> {
  // Day of week: 7 is another 0, and steps end with Saturday.
  const end = last === 7 ? 6 : last
  const value = fc.integer({ min: first, max: last })
  const written = (n: number) => {
    // Sunday's name is 0, so 7 stays a number: `0-7` is a week and `0-SUN` a day.
    const name = names[n - (first === 1 ? 1 : 0)]
    return name === undefined ? fc.constant(String(n)) : fc.constantFrom(String(n), name, name.toLowerCase())
  }
  const step = fc.integer({ min: 1, max: Math.min(end, 20) })
  const single = value.chain((a) => written(a).map((text) => item(text, [a], false)))
  const range = fc
    .tuple(value, value)
    .chain(([a, b]) => fc.tuple(written(a), written(b)).map(([from, to]) => item(`${from}-${to}`, walk(a, b, first, end), true)))
  const steppedRange = fc.tuple(value, value, step).map(([a, b, n]) =>
    item(
      `${a}-${b}/${n}`,
      walk(a, b, first, end).filter((_, i) => i % n === 0),
      true,
    ),
  )
  const starStep = step.map((n) =>
    item(
      `*/${n}`,
      walk(first, end, first, end).filter((_, i) => i % n === 0),
      true,
    ),
  )
  const valueStep = fc.tuple(fc.integer({ min: first, max: end }), step).map(([a, n]) =>
    item(
      `${a}/${n}`,
      walk(a, end, first, end).filter((_, i) => i % n === 0),
      true,
    ),
  )
  const oneItem = fc.oneof(
    { weight: 5, arbitrary: single },
    { weight: 2, arbitrary: range },
    { weight: 1, arbitrary: steppedRange },
    { weight: 2, arbitrary: starStep },
    { weight: 1, arbitrary: valueStep },
    ...(special ? [{ weight: 4, arbitrary: special }] : []),
  )
  const list = fc.array(oneItem, { minLength: 1, maxLength: 3 }).map((items) => ({
    text: items.map((each) => each.text).join(','),
    values: new Set(items.flatMap((each) => [...each.values])),
    isInterval: items.some((each) => each.isInterval),
    special: items.flatMap((each) => each.special),
  }))
  return fc.oneof({ weight: 4, arbitrary: list }, { weight: 1, arbitrary: any })

  function item(text: string, values: readonly number[], isInterval: boolean): Item {
    return { text, values: new Set(last === 7 ? values.map((n) => n % 7) : values), isInterval, special: [] }
  }
}

/** a, a + 1, … b, going on at the first value after the last one. */
function walk(a: number, b: number, first: number, last: number): number[] {
  if (b > last && a > last) return [b]
  const values = [a > last ? first : a]
  while (values.at(-1) !== b) values.push(values.at(-1) === last && b <= last ? first : (values.at(-1) as number) + 1)
  return values
}

function dayOfMonthSpecial(): fc.Arbitrary<Item> {
  const special = (text: string, matches: (wall: number) => boolean): Item => ({
    text,
    values: new Set(),
    isInterval: false,
    special: [matches],
  })
  const back = fc.integer({ min: 0, max: 30 })
  const fromLast = back.map((n) => special(n === 0 ? 'L' : `L-${n}`, (wall) => dateOf(wall) === lengthOf(wall) - n))
  const nearest = fc.integer({ min: 1, max: 31 }).map((n) => special(`${n}W`, (wall) => isWorkdayNearest(wall, n)))
  const nearestFromLast = back.map((n) =>
    special(n === 0 ? 'LW' : `L-${n}W`, (wall) => isWorkdayNearest(wall, lengthOf(wall) - n)),
  )
  return fc.oneof(fromLast, nearest, nearestFromLast)
}

function dayOfWeekSpecial(): fc.Arbitrary<Item> {
  return fc.tuple(fc.integer({ min: 0, max: 7 }), fc.integer({ min: 0, max: 5 })).map(([weekday, nth]) => ({
    text: nth === 0 ? `${weekday}L` : `${weekday}#${nth}`,
    values: new Set(),
    isInterval: false,
    special: [
      (wall: number) =>
        new Date(wall).getUTCDay() === weekday % 7 &&
        (nth === 0 ? dateOf(wall) + 7 > lengthOf(wall) : Math.ceil(dateOf(wall) / 7) === nth),
    ],
  }))
}

function dateOf(wall: number): number {
  return new Date(wall).getUTCDate()
}

function lengthOf(wall: number): number {
  const date = new Date(wall)
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
}

/** Whether the wall's date is the workday nearest to day n of its month. */
function isWorkdayNearest(wall: number, n: number): boolean {
  if (n < 1 || n > lengthOf(wall)) return false
  const date = new Date(wall)
  const weekdayOf = (day: number) => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)).getUTCDay()
  const isWorkday = (day: number) => day >= 1 && day <= lengthOf(wall) && weekdayOf(day) >= 1 && weekdayOf(day) <= 5
  // Saturday goes back and Sunday goes on, unless that leaves the month.
  const choices = weekdayOf(n) === 6 ? [n, n - 1, n + 2] : [n, n + 1, n - 2]
  return dateOf(wall) === choices.find(isWorkday)
}
