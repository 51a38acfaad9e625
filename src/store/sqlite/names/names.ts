import { slotOf } from '../../../model/ids.ts'
import { definitionOf } from '../../../model/job.ts'
import type { Source } from '../../../model/lifecycle.ts'
import type { Form } from '../../rules/sql/occurrence-row.ts'
import type { Statements } from '../connection/statements.ts'

export interface Series {
  readonly ref: number
  readonly tenant: string
  readonly job: string
}

interface FormRow {
  readonly kind: number
  readonly version: number
  readonly source: Source
  readonly priority: number
  readonly hooked: number
  /** Empty for none. */
  readonly publish: string
}

/**
 * Small numbers for long texts: kinds, pairs of tenant and job (series), and forms. Their rows are never deleted, so
 * what was read once holds for as long as the connection.
 */
export class Names {
  readonly #connection: Statements
  readonly #kinds = new Map<string, number>()
  readonly #kindNames = new Map<number, string>()
  readonly #series = new Map<string, Map<string, Series>>()
  readonly #seriesByRef = new Map<number, Series>()
  readonly #forms = new Map<string, number>()
  readonly #formsByRef = new Map<number, Form>()
  #hasNew = false

  constructor(connection: Statements) {
    this.#connection = connection
  }

  /** The number of a kind, made when there is none. */
  kind(name: string): number {
    return this.findKind(name) ?? this.#noteKind(this.#insert('INSERT INTO punctual_kind (name) VALUES (?)', name), name)
  }

  findKind(name: string): number | null {
    const known = this.#kinds.get(name)
    if (known !== undefined) return known
    const { absentKinds } = this.#connection.cache
    if (absentKinds.has(name)) return null
    const row = this.#connection.one<{ ref: number }>('SELECT ref FROM punctual_kind WHERE name = ?', name)
    if (row) return this.#noteKind(row.ref, name)
    absentKinds.add(name)
    return null
  }

  kindName(ref: number): string {
    const known = this.#kindNames.get(ref)
    if (known !== undefined) return known
    const { name } = this.#connection.one<{ name: string }>('SELECT name FROM punctual_kind WHERE ref = ?', ref) as {
      name: string
    }
    this.#noteKind(ref, name)
    return name
  }

  /** The numbers of those kinds that have one, as JSON. */
  kindList(kinds: readonly string[]): string {
    return JSON.stringify(kinds.map((name) => this.findKind(name)).filter((ref) => ref !== null))
  }

  /** The series of a tenant's job, made when there is none. */
  series(tenant: string, job: string): Series {
    const known = this.findSeries(tenant, job)
    if (known) return known
    const ref = this.#insert('INSERT INTO punctual_series (tenant, slot, job) VALUES (?, ?, ?)', tenant, slotOf(tenant), job)
    return this.#noteSeries({ ref, tenant, job })
  }

  findSeries(tenant: string, job: string): Series | null {
    const known = this.#series.get(tenant)?.get(job)
    if (known) return known
    const row = this.#connection.one<{ ref: number }>('SELECT ref FROM punctual_series WHERE tenant = ? AND job = ?', tenant, job)
    return row ? this.#noteSeries({ ref: row.ref, tenant, job }) : null
  }

  seriesByRef(ref: number): Series {
    const known = this.#seriesByRef.get(ref)
    if (known) return known
    return this.#noteSeries(
      this.#connection.one<Series>('SELECT ref, tenant, job FROM punctual_series WHERE ref = ?', ref) as Series,
    )
  }

  /** The number of the form of a record, made when there is none. */
  form({ kind, version, source, priority, isHooked, publish = '' }: Omit<Form, 'definition'>): number {
    const text = `${version} ${priority} ${isHooked ? 1 : 0} ${source} ${kind}${publish}`
    const known = this.#forms.get(text)
    if (known !== undefined) return known
    const values = [this.kind(kind), version, source, priority, isHooked ? 1 : 0, publish] as const
    const row = this.#connection.one<{ ref: number }>(
      'SELECT ref FROM punctual_form WHERE kind = ? AND version = ? AND source = ? AND priority = ? AND hooked = ? AND publish = ?',
      ...values,
    )
    const insert = 'INSERT INTO punctual_form (kind, version, source, priority, hooked, publish) VALUES (?, ?, ?, ?, ?, ?)'
    const ref = row?.ref ?? this.#insert(insert, ...values)
    this.#forms.set(text, ref)
    return ref
  }

  formByRef(ref: number): Form {
    const known = this.#formsByRef.get(ref)
    if (known) return known
    const row = this.#connection.one<FormRow>(
      'SELECT kind, version, source, priority, hooked, publish FROM punctual_form WHERE ref = ?',
      ref,
    ) as FormRow
    const kind = this.kindName(row.kind)
    const { version, source, priority, hooked } = row
    const more = { isHooked: hooked === 1, ...(row.publish !== '' && { publish: row.publish }) }
    const form = { definition: definitionOf(kind), kind, version, source, priority, ...more }
    this.#formsByRef.set(ref, form)
    return form
  }

  /** Called after a commit: new numbers are valid. */
  keepNew(): void {
    this.#hasNew = false
  }

  /** Called when a transaction ends without a commit: its new numbers are void. */
  forgetNew(): void {
    if (!this.#hasNew) return
    this.#hasNew = false
    for (const map of [this.#kinds, this.#kindNames, this.#series, this.#seriesByRef, this.#forms, this.#formsByRef]) map.clear()
  }

  #insert(sql: string, ...values: (string | number)[]): number {
    this.#hasNew = true
    return Number(this.#connection.statement(sql).run(...values).lastInsertRowid)
  }

  #noteKind(ref: number, name: string): number {
    this.#kinds.set(name, ref)
    this.#kindNames.set(ref, name)
    return ref
  }

  #noteSeries(series: Series): Series {
    const { ref, tenant, job } = series
    const jobs = this.#series.get(tenant) ?? new Map<string, Series>()
    this.#series.set(tenant, jobs.set(job, series))
    this.#seriesByRef.set(ref, series)
    return series
  }
}
