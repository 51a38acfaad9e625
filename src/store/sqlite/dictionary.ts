import { slotOf } from '../../model/ids.ts'
import type { Connection } from './connection.ts'

export interface Series {
  readonly ref: number
  readonly tenant: string
  readonly job: string
}

/**
 * Small numbers for long texts: definitions (kinds), and pairs of tenant and job (series). Rows of both are never deleted,
 * so that what was read once holds for as long as the connection.
 */
export class Dictionary {
  readonly #connection: Connection
  readonly #kinds = new Map<string, number>()
  readonly #kindNames = new Map<number, string>()
  readonly #series = new Map<string, Map<string, Series>>()
  readonly #seriesByRef = new Map<number, Series>()
  #hasNew = false

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** The number of a definition, made when there is none. */
  kind(name: string): number {
    return (
      this.findKind(name) ??
      this.#add(() =>
        this.#noteKind(
          Number(this.#connection.statement('INSERT INTO punctual_kind (name) VALUES (?)').run(name).lastInsertRowid),
          name,
        ),
      )
    )
  }

  findKind(name: string): number | null {
    const known = this.#kinds.get(name)
    if (known !== undefined) return known
    const row = this.#connection.one<[number]>('SELECT ref FROM punctual_kind WHERE name = ?', name)
    return row ? this.#noteKind(row[0], name) : null
  }

  kindName(ref: number): string {
    const known = this.#kindNames.get(ref)
    if (known !== undefined) return known
    const [name] = this.#connection.one<[string]>('SELECT name FROM punctual_kind WHERE ref = ?', ref) as [string]
    this.#noteKind(ref, name)
    return name
  }

  /** The series of a tenant's job, made when there is none. */
  series(tenant: string, job: string): Series {
    return this.findSeries(tenant, job) ?? this.#add(() => this.#insertSeries(tenant, job))
  }

  findSeries(tenant: string, job: string): Series | null {
    const known = this.#series.get(tenant)?.get(job)
    if (known) return known
    const row = this.#connection.one<[number]>('SELECT ref FROM punctual_series WHERE tenant = ? AND job = ?', tenant, job)
    return row ? this.#noteSeries({ ref: row[0], tenant, job }) : null
  }

  seriesByRef(ref: number): Series {
    const known = this.#seriesByRef.get(ref)
    if (known) return known
    const [tenant, job] = this.#connection.one<[string, string]>(
      'SELECT tenant, job FROM punctual_series WHERE ref = ?',
      ref,
    ) as [string, string]
    return this.#noteSeries({ ref, tenant, job })
  }

  /** Called after a commit: what was made stands. */
  keepNew(): void {
    this.#hasNew = false
  }

  /** Called when a transaction ends without a commit: numbers that it made are not to be kept. */
  forgetNew(): void {
    if (!this.#hasNew) return
    this.#hasNew = false
    for (const map of [this.#kinds, this.#kindNames, this.#series, this.#seriesByRef]) map.clear()
  }

  #add<T>(make: () => T): T {
    this.#hasNew = true
    return make()
  }

  #insertSeries(tenant: string, job: string): Series {
    const insert = this.#connection.statement('INSERT INTO punctual_series (tenant, slot, job) VALUES (?, ?, ?)')
    return this.#noteSeries({ ref: Number(insert.run(tenant, slotOf(tenant), job).lastInsertRowid), tenant, job })
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
