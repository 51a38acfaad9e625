import { invalidSchedule } from './invalid-schedule.ts'

/** One field of a cron text: its name in messages and its values. */
export interface CronField {
  readonly name: string
  readonly first: number
  readonly last: number
  readonly names?: readonly string[]
  /** Which special signs the field knows. */
  readonly special?: 'day-of-month' | 'day-of-week'
}

/** The values of a field. Bit n of a mask stands for the value `first` + n (values from 30 on: of `high`). */
export interface FieldValues {
  low: number
  high: number
  /** The whole field is `*` or `?`. */
  isAny: boolean
  /** It has a `*`, a `?`, a range or a step. */
  isInterval: boolean
  fromLast: number
  nearest: number
  nearestFromLast: number
  lastWeekdays: number
  nthWeekdays: number[] | null
}

/** Reads the field that stands in `text` from `start` to `end`, or refuses it with the place and the reason. */
export function readField(text: string, start: number, end: number, field: CronField): FieldValues {
  const values: FieldValues = {
    low: 0,
    high: 0,
    isAny: false,
    isInterval: false,
    fromLast: 0,
    nearest: 0,
    nearestFromLast: 0,
    lastWeekdays: 0,
    nthWeekdays: null,
  }
  const scanner = new FieldScanner(text, start, end, field)
  do scanner.readItem(values)
  while (scanner.takeComma())
  return values
}

const comma = 44
const hyphen = 45
const slash = 47
const star = 42
const question = 63
const hash = 35
const letterL = 76
const letterW = 87

class FieldScanner {
  readonly #text: string
  readonly #start: number
  readonly #end: number
  readonly #field: CronField
  #at: number

  constructor(text: string, start: number, end: number, field: CronField) {
    this.#text = text
    this.#start = start
    this.#end = end
    this.#field = field
    this.#at = start
  }

  takeComma(): boolean {
    if (this.#at === this.#end) return false
    if (this.#peek() !== comma) throw this.#refuse(this.#at, `unexpected ${this.#shown(this.#at)}`)
    this.#at++
    return true
  }

  readItem(into: FieldValues): void {
    const code = this.#peek()
    if (code === star || code === question) this.#readAny(into, code)
    else if (code === letterL && this.#field.special === 'day-of-month') this.#readFromLast(into)
    else this.#readRange(into)
  }

  #readRange(into: FieldValues): void {
    const from = this.#readValue()
    if (this.#field.special !== undefined && this.#readSpecial(into, from)) return
    let to = from
    const isRange = this.#take(hyphen)
    if (isRange) to = this.#readValue()
    const step = this.#readStep()
    if (step > 0 && !isRange) to = this.#field.last
    if (isRange || step > 0) into.isInterval = true
    this.#addRange(into, from, to, step || 1)
  }

  #readAny(into: FieldValues, code: number): void {
    this.#at++
    const alone = this.#at - this.#start === 1 && this.#at === this.#end
    if (code === question && !alone) throw this.#refuse(this.#at - 1, '? must stand alone in its field')
    const step = this.#readStep()
    into.isInterval = true
    if (alone) into.isAny = true
    this.#addRange(into, this.#field.first, this.#field.last, step || 1)
  }

  /** `L`, `L-n`, `LW`, `L-nW`: days counted from the end of the month. */
  #readFromLast(into: FieldValues): void {
    this.#at++
    let back = 0
    if (this.#take(hyphen)) {
      const at = this.#at
      back = this.#readNumber()
      if (back > 30) throw this.#refuse(at, 'L-n takes 0 to 30 days')
    }
    if (this.#take(letterW)) into.nearestFromLast |= 1 << back
    else into.fromLast |= 1 << back
  }

  /** `nW` in the day of month, `nL` and `n#k` in the day of week. */
  #readSpecial(into: FieldValues, value: number): boolean {
    if (this.#field.special === 'day-of-month') {
      if (!this.#take(letterW)) return false
      into.nearest |= 1 << (value - 1)
      return true
    }
    if (this.#take(letterL)) {
      into.lastWeekdays |= 1 << (value % 7)
      return true
    }
    if (!this.#take(hash)) return false
    const at = this.#at
    const nth = this.#readNumber()
    if (nth < 1 || nth > 5) throw this.#refuse(at, '# takes 1 to 5')
    into.nthWeekdays ??= [0, 0, 0, 0, 0]
    into.nthWeekdays[nth - 1] = (into.nthWeekdays[nth - 1] as number) | (1 << (value % 7))
    return true
  }

  /** The step after a slash, or 0 when there is none. */
  #readStep(): number {
    if (!this.#take(slash)) return 0
    const at = this.#at
    const step = this.#readNumber()
    if (step < 1 || step > this.#field.last) throw this.#refuse(at, `a step must be 1 to ${this.#field.last}`)
    return step
  }

  #readValue(): number {
    const at = this.#at
    const code = this.#peek()
    if (code >= 65 && code <= 90) return this.#readName()
    const value = this.#readNumber()
    if (value < this.#field.first || value > this.#lastValue()) {
      throw this.#refuse(at, `${value} is outside ${this.#field.first} to ${this.#lastValue()}`)
    }
    return value
  }

  #readName(): number {
    const at = this.#at
    let end = at
    while (end < this.#end && isLetter(this.#text.charCodeAt(end))) end++
    const index = this.#field.names?.indexOf(this.#text.slice(at, at + 3).toUpperCase()) ?? -1
    // FRIL: the name is followed by the sign for the last of its kind.
    const isName = end - at === 3 || (end - at === 4 && this.#field.special === 'day-of-week' && this.#upper(at + 3) === letterL)
    if (index < 0 || !isName)
      throw this.#refuse(at, `unknown name ${JSON.stringify(this.#text.slice(at, Math.min(end, at + 20)))}`)
    this.#at = at + 3
    return this.#field.first + index
  }

  #readNumber(): number {
    const at = this.#at
    let value = 0
    while (this.#at < this.#end) {
      const digit = this.#text.charCodeAt(this.#at) - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
      this.#at++
    }
    if (this.#at === at) throw this.#refuse(at, at === this.#end ? 'a value is missing' : `unexpected ${this.#shown(at)}`)
    if (this.#at - at > 2) throw this.#refuse(at, 'numbers have at most two digits')
    return value
  }

  /** Sets from, from + step, … up to `to`; beyond the field's last value it goes on at the first (22-2, FRI-MON). */
  #addRange(into: FieldValues, from: number, to: number, step: number): void {
    const { first, last } = this.#field
    // 7 is Sunday too: as a start it is 0, as an end it follows Saturday.
    const begin = from > last ? first : from
    const end = to > last && from > last ? first : to
    const size = last - first + 1
    const length = end >= begin ? end - begin : end - begin + size
    for (let i = 0; i <= length; i += step) {
      const bit = (begin - first + i) % size
      if (bit < 30) into.low |= 1 << bit
      else into.high |= 1 << (bit - 30)
    }
  }

  /** 7 is a value of the day of week, though the field ends with Saturday. */
  #lastValue(): number {
    return this.#field.special === 'day-of-week' ? 7 : this.#field.last
  }

  #take(code: number): boolean {
    if (this.#peek() !== code) return false
    this.#at++
    return true
  }

  /** The character in upper case, or 0 at the end. */
  #peek(): number {
    return this.#at < this.#end ? this.#upper(this.#at) : 0
  }

  #upper(at: number): number {
    const code = this.#text.charCodeAt(at)
    return code >= 97 && code <= 122 ? code - 32 : code
  }

  #shown(at: number): string {
    return JSON.stringify(String.fromCodePoint(this.#text.codePointAt(at) as number))
  }

  #refuse(at: number, reason: string): Error {
    return invalidSchedule(this.#text, at, reason, this.#field.name)
  }
}

function isLetter(code: number): boolean {
  return (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}
