import { slotOf } from '../../model/ids.ts'
import { column } from './arrays.ts'
import type { Session } from './database.ts'

export interface Series {
  readonly ref: number
  readonly tenant: string
  readonly job: string
}

/** A kind, and a priority that rows of it have. */
export interface KindUse {
  readonly kind: string
  readonly priority: number
}

export class NamesNeeded extends Error {
  readonly kinds: readonly KindUse[]

  constructor(kinds: readonly KindUse[]) {
    super('some kinds have no numbers yet')
    this.kinds = kinds
  }
}

/**
 * Small numbers for long texts: definitions (kinds), pairs of tenant and job (series), and nodes (boots). Rows of these are never
 * deleted, so that what was read once holds for ever. New ones are committed by themselves, before the transaction that needs
 * them begins: nobody waits for somebody else's transaction to use a name.
 */
export class Dictionary {
  readonly #db: Session
  readonly #kinds = new Names()
  readonly #boots = new Names()
  readonly #series = new Map<string, Map<string, Series>>()
  readonly #seriesByRef = new Map<number, Series>()
  /** By kind, the priorities that are known to be in use. */
  readonly #priorities = new Map<number, Set<number>>()

  /** `db` must not need a connection that a caller may be holding. */
  constructor(db: Session) {
    this.#db = db
  }

  // ── making ──

  /** Gives kinds their numbers, and notes that their rows may have these priorities. */
  async addKinds(wanted: readonly KindUse[]): Promise<void> {
    await this.#addNames(
      this.#kinds,
      'kind',
      wanted.map(({ kind }) => kind),
    )
    const fresh = new Map<string, [ref: number, priority: number]>()
    for (const { kind, priority } of wanted) {
      const ref = this.kind(kind)
      if (!this.#priorities.get(ref)?.has(priority)) fresh.set(`${ref} ${priority}`, [ref, priority])
    }
    for (const [ref, priority] of fresh.values()) {
      await this.#db.all(
        'UPDATE punctual.kind SET priorities = array_append(priorities, $2::smallint) WHERE ref = $1 AND NOT ($2::smallint = ANY(priorities))',
        [ref, priority],
      )
      this.#priorities.set(ref, (this.#priorities.get(ref) ?? new Set()).add(priority))
    }
  }

  /** The same, but inside of a transaction of ours nothing is made: it ends with what is needed, to begin anew when that is there. */
  async needKinds(wanted: readonly KindUse[], isInside: boolean): Promise<void> {
    const isKnown = ({ kind, priority }: KindUse) => this.#priorities.get(this.kind(kind))?.has(priority)
    if (wanted.every(isKnown)) return
    if (isInside) throw new NamesNeeded(wanted)
    await this.addKinds(wanted)
  }

  /** Gives these kinds numbers, whether or not there is anything of them yet, so that nobody has to look for them again. */
  async nameKinds(names: readonly string[]): Promise<void> {
    await this.#addNames(this.#kinds, 'kind', names)
  }

  async addBoot(boot: string): Promise<number> {
    await this.#addNames(this.#boots, 'boot', [boot])
    return this.#boots.ref(boot) as number
  }

  async addSeries(pairs: readonly { readonly tenant: string; readonly job: string }[]): Promise<void> {
    const wanted = pairs.filter(({ tenant, job }) => !this.findSeries(tenant, job))
    if (wanted.length === 0) return
    const columns = [
      column(wanted.map(({ tenant }) => tenant)),
      column(wanted.map(({ tenant }) => slotOf(tenant))),
      column(wanted.map(({ job }) => job)),
    ]
    // A number is drawn for each row that is tried: hence only those that are not there.
    await this.#db.all(
      `INSERT INTO punctual.series (tenant, slot, job)
        SELECT DISTINCT n.tenant, n.slot, n.job FROM unnest($1::text[], $2::int[], $3::text[]) n (tenant, slot, job)
        WHERE NOT EXISTS (SELECT 1 FROM punctual.series s WHERE s.tenant = n.tenant AND s.job = n.job) ON CONFLICT DO NOTHING`,
      columns,
    )
    await this.lookUpSeries(this.#db, wanted)
  }

  async #addNames(known: Names, table: 'kind' | 'boot', names: readonly string[]): Promise<void> {
    const wanted = [...new Set(names)].filter((name) => known.ref(name) === undefined)
    if (wanted.length === 0) return
    const values = [column(wanted)]
    await this.#db.all(
      `INSERT INTO punctual.${table} (name) SELECT n FROM unnest($1::text[]) n
        WHERE NOT EXISTS (SELECT 1 FROM punctual.${table} k WHERE k.name = n) ON CONFLICT DO NOTHING`,
      values,
    )
    await this.#lookUpNames(this.#db, known, table, wanted)
  }

  // ── looking up ──

  /** Learns the numbers of those kinds that have one. */
  async lookUpKinds(session: Session, names: readonly string[]): Promise<void> {
    await this.#lookUpNames(session, this.#kinds, 'kind', names)
  }

  async lookUpBoots(session: Session, names: readonly string[]): Promise<void> {
    await this.#lookUpNames(session, this.#boots, 'boot', names)
  }

  async lookUpSeries(session: Session, pairs: readonly { readonly tenant: string; readonly job: string }[]): Promise<void> {
    const wanted = pairs.filter(({ tenant, job }) => !this.findSeries(tenant, job))
    if (wanted.length === 0) return
    const rows = await session.all<[number, string, string]>(
      `SELECT s.ref, s.tenant, s.job FROM unnest($1::text[], $2::text[]) n (tenant, job)
        JOIN punctual.series s ON s.tenant = n.tenant AND s.job = n.job`,
      [column(wanted.map(({ tenant }) => tenant)), column(wanted.map(({ job }) => job))],
    )
    for (const [ref, tenant, job] of rows) this.#noteSeries({ ref, tenant, job })
  }

  /** Learns what these numbers stand for, of kinds, series and boots. */
  async learn(
    session: Session,
    refs: { readonly kinds?: Iterable<number>; readonly series?: Iterable<number>; readonly boots?: Iterable<number | null> },
  ): Promise<void> {
    await this.#learnNames(session, this.#kinds, 'kind', refs.kinds ?? [])
    await this.#learnNames(session, this.#boots, 'boot', refs.boots ?? [])
    const unknown = [...new Set(refs.series ?? [])].filter((ref) => !this.#seriesByRef.has(ref))
    if (unknown.length === 0) return
    const rows = await session.all<[number, string, string]>(
      'SELECT ref, tenant, job FROM punctual.series WHERE ref = ANY($1::int[])',
      [column(unknown)],
    )
    for (const [ref, tenant, job] of rows) this.#noteSeries({ ref, tenant, job })
  }

  async #lookUpNames(session: Session, known: Names, table: string, names: readonly string[]): Promise<void> {
    const wanted = names.filter((name) => known.ref(name) === undefined)
    if (wanted.length === 0) return
    const rows = await session.all<[number, string]>(`SELECT ref, name FROM punctual.${table} WHERE name = ANY($1::text[])`, [
      column(wanted),
    ])
    for (const [ref, name] of rows) known.add(ref, name)
  }

  async #learnNames(session: Session, known: Names, table: string, refs: Iterable<number | null>): Promise<void> {
    const unknown = [...new Set(refs)].filter((ref) => ref !== null && known.name(ref) === undefined)
    if (unknown.length === 0) return
    const rows = await session.all<[number, string]>(`SELECT ref, name FROM punctual.${table} WHERE ref = ANY($1::int[])`, [
      column(unknown),
    ])
    for (const [ref, name] of rows) known.add(ref, name)
  }

  // ── what is known ──

  kind(name: string): number {
    return this.#kinds.ref(name) as number
  }

  /** The numbers of those kinds that have one. */
  kindRefs(names: readonly string[]): number[] {
    return [...new Set(names)].flatMap((name) => this.#kinds.ref(name) ?? [])
  }

  kindName(ref: number): string {
    return this.#kinds.name(ref) as string
  }

  boot(name: string): number | undefined {
    return this.#boots.ref(name)
  }

  bootName(ref: number): string {
    return this.#boots.name(ref) as string
  }

  series(tenant: string, job: string): Series {
    return this.findSeries(tenant, job) as Series
  }

  findSeries(tenant: string, job: string): Series | undefined {
    return this.#series.get(tenant)?.get(job)
  }

  seriesByRef(ref: number): Series {
    return this.#seriesByRef.get(ref) as Series
  }

  #noteSeries(series: Series): void {
    const { ref, tenant, job } = series
    const jobs = this.#series.get(tenant) ?? new Map<string, Series>()
    this.#series.set(tenant, jobs.set(job, series))
    this.#seriesByRef.set(ref, series)
  }
}

/** Names and their numbers, both ways. */
class Names {
  readonly #refs = new Map<string, number>()
  readonly #names = new Map<number, string>()

  add(ref: number, name: string): void {
    this.#refs.set(name, ref)
    this.#names.set(ref, name)
  }

  ref(name: string): number | undefined {
    return this.#refs.get(name)
  }

  name(ref: number): string | undefined {
    return this.#names.get(ref)
  }
}
