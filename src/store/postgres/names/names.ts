import { slotOf } from '../../../model/ids.ts'
import { column } from '../connection/arrays.ts'
import type { Session } from '../connection/session.ts'
import { digestOf, type Form, type FormFields, type FormRow, formOfRow, formText } from './form.ts'

export interface Series {
  readonly ref: number
  readonly tenant: string
  readonly job: string
}

/** A kind, a priority that rows of it have, and whether they have limits. */
export interface KindUse {
  readonly kind: string
  readonly priority: number
  readonly isGated: boolean
}

/** A form that rows need, and whether they have limits, which may be rows' own. */
export interface FormUse {
  readonly form: FormFields
  readonly isGated: boolean
}

/** A transaction lacks names: it ends, and begins anew when they are there. */
export class NamesNeeded extends Error {
  readonly forms: readonly FormUse[]

  constructor(forms: readonly FormUse[]) {
    super('some names have no numbers yet')
    this.forms = forms
  }
}

const mostForms = 50_000

/**
 * Small numbers for long texts: kinds, pairs of tenant and job (series), and forms. Rows of these are never deleted, so what was
 * read once holds for ever. New ones are committed by themselves, before the transaction that needs them begins: no call waits for
 * another transaction to use a name.
 */
export class Names {
  readonly #db: Session
  readonly #kinds = new Map<string, number>()
  readonly #uses = new Set<string>()
  readonly #series = new Map<string, Map<string, Series>>()
  readonly #seriesByRef = new Map<number, Series>()
  readonly #forms = new Map<string, Form>()
  readonly #formsByRef = new Map<number, Form>()

  /** `db` must not need a connection that a caller may be holding. */
  constructor(db: Session) {
    this.#db = db
  }

  // ── making ──

  /** Notes that kinds have rows of these priorities, with limits or without. */
  async addUses(wanted: readonly KindUse[]): Promise<void> {
    await this.addKinds(wanted.map(({ kind }) => kind))
    const fresh = new Map(wanted.filter((use) => !this.#uses.has(useText(use))).map((use) => [useText(use), use]))
    for (const [text, { kind, priority, isGated }] of fresh) {
      await this.#db.rows(
        `UPDATE punctual.kind SET gated = gated OR $3::boolean,
            priorities = CASE WHEN $2::smallint = ANY(priorities) THEN priorities ELSE array_append(priorities, $2::smallint) END
          WHERE ref = $1 AND NOT ($2::smallint = ANY(priorities) AND gated >= $3::boolean)`,
        [this.kind(kind), priority, isGated],
      )
      this.#uses.add(text)
    }
  }

  /** Makes forms, and what their rows need of kinds. Inside of a transaction nothing is made: `NamesNeeded` is thrown. */
  async addForms(wanted: readonly FormUse[], isInside = false): Promise<void> {
    const uses = wanted.map(({ form: { kind, priority }, isGated }) => ({ kind, priority, isGated }))
    if (this.#unknownForms(wanted).length === 0 && uses.every((use) => this.#uses.has(useText(use)))) return
    if (isInside) throw new NamesNeeded(wanted)
    await this.addUses(uses)
    await this.#readFormsOf(this.#unknownForms(wanted))
    const forms = this.#unknownForms(wanted)
    if (forms.length === 0) return
    await this.#db.rows(
      `INSERT INTO punctual.form (digest, kind, version, source, uniqueness, hooked, priority, start_within_ms, limits, publish)
        SELECT * FROM unnest($1::text[], $2::int[], $3::int[], $4::punctual.source[], $5::punctual.uniqueness[], $6::boolean[], $7::smallint[],
          $8::float8[], $9::text[], $10::text[]) n (digest) WHERE NOT EXISTS (SELECT 1 FROM punctual.form f WHERE f.digest = n.digest) ON CONFLICT DO NOTHING`,
      [
        column(forms.map(digestOf)),
        column(forms.map(({ kind }) => this.kind(kind))),
        column(forms.map(({ version }) => version)),
        column(forms.map(({ source }) => source)),
        column(forms.map(({ unique }) => unique)),
        column(forms.map(({ isHooked }) => isHooked)),
        column(forms.map(({ priority }) => priority)),
        column(forms.map(({ startWithinMs }) => startWithinMs)),
        column(forms.map(({ limits }) => limits && JSON.stringify(limits))),
        column(forms.map(({ publish = null }) => publish)),
      ],
    )
    await this.#readFormsOf(forms)
  }

  #unknownForms(wanted: readonly FormUse[]): readonly FormFields[] {
    const unknown = wanted.filter(({ form }) => !this.#forms.has(formText(form)))
    return [...new Map(unknown.map(({ form }) => [formText(form), form])).values()]
  }

  async #readFormsOf(forms: readonly FormFields[]): Promise<void> {
    if (forms.length > 0) await this.#readForms(this.#db, 'f.digest = ANY($1::text[])', column(forms.map(digestOf)))
  }

  /** Gives these kinds numbers, whether or not there is anything of them yet. */
  async addKinds(names: readonly string[]): Promise<void> {
    await this.findKinds(this.#db, names)
    const wanted = [...new Set(names)].filter((name) => !this.#kinds.has(name))
    if (wanted.length === 0) return
    await this.#db.rows(
      `INSERT INTO punctual.kind (name) SELECT n FROM unnest($1::text[]) n
        WHERE NOT EXISTS (SELECT 1 FROM punctual.kind k WHERE k.name = n) ON CONFLICT DO NOTHING`,
      [column(wanted)],
    )
    await this.findKinds(this.#db, wanted)
  }

  async addSeries(pairs: readonly { readonly tenant: string; readonly job: string }[]): Promise<void> {
    await this.findAllSeries(this.#db, pairs)
    const wanted = pairs.filter(({ tenant, job }) => !this.findSeries(tenant, job))
    if (wanted.length === 0) return
    // A number is drawn for each row that is tried: hence only those that are not there.
    await this.#db.rows(
      `INSERT INTO punctual.series (tenant, slot, job)
        SELECT DISTINCT n.tenant, n.slot, n.job FROM unnest($1::text[], $2::int[], $3::text[]) n (tenant, slot, job)
        WHERE NOT EXISTS (SELECT 1 FROM punctual.series s WHERE s.tenant = n.tenant AND s.job = n.job) ON CONFLICT DO NOTHING`,
      [
        column(wanted.map(({ tenant }) => tenant)),
        column(wanted.map(({ tenant }) => slotOf(tenant))),
        column(wanted.map(({ job }) => job)),
      ],
    )
    await this.findAllSeries(this.#db, wanted)
  }

  // ── looking up ──

  /** Reads the numbers of those kinds that have one. */
  async findKinds(session: Session, names: readonly string[]): Promise<void> {
    const wanted = names.filter((name) => !this.#kinds.has(name))
    if (wanted.length === 0) return
    const sql = 'SELECT ref, name, priorities, gated FROM punctual.kind WHERE name = ANY($1::text[])'
    const rows = await session.rows<{ ref: number; name: string; priorities: number[]; gated: boolean }>(sql, [column(wanted)])
    for (const { ref, name, priorities, gated } of rows) {
      this.#kinds.set(name, ref)
      // What is true of a kind stays true.
      for (const priority of priorities)
        for (const isGated of gated ? [false, true] : [false]) this.#uses.add(useText({ kind: name, priority, isGated }))
    }
  }

  /** Reads the numbers of those series that have one. */
  async findAllSeries(session: Session, pairs: readonly { readonly tenant: string; readonly job: string }[]): Promise<void> {
    const wanted = pairs.filter(({ tenant, job }) => !this.findSeries(tenant, job))
    if (wanted.length === 0) return
    const rows = await session.rows<Series>(
      `SELECT s.ref, s.tenant, s.job FROM unnest($1::text[], $2::text[]) n (tenant, job)
        JOIN punctual.series s ON s.tenant = n.tenant AND s.job = n.job`,
      [column(wanted.map(({ tenant }) => tenant)), column(wanted.map(({ job }) => job))],
    )
    for (const row of rows) this.#noteSeries(row)
  }

  /** Reads the names behind the numbers of these rows. */
  async learnOf(session: Session, rows: readonly { readonly series: number; readonly form: number }[]): Promise<void> {
    await this.learn(session, { series: rows.map(({ series }) => series), forms: rows.map(({ form }) => form) })
  }

  /** Reads the names behind these numbers. */
  async learn(
    session: Session,
    { series = [], forms = [] }: { readonly series?: readonly number[]; readonly forms?: readonly number[] },
  ): Promise<void> {
    const newSeries = [...new Set(series)].filter((ref) => !this.#seriesByRef.has(ref))
    const newForms = [...new Set(forms)].filter((ref) => !this.#formsByRef.has(ref))
    if (newSeries.length > 0) {
      const sql = 'SELECT ref, tenant, job FROM punctual.series WHERE ref = ANY($1::int[])'
      for (const row of await session.rows<Series>(sql, [column(newSeries)])) this.#noteSeries(row)
    }
    if (newForms.length > 0) await this.#readForms(session, 'f.ref = ANY($1::int[])', column(newForms))
  }

  async #readForms(session: Session, where: string, value: string | null): Promise<void> {
    const rows = await session.rows<FormRow>(
      `SELECT f.ref, f.kind, k.name, f.version, f.source, f.uniqueness, f.hooked, f.priority, f.start_within_ms, f.limits, f.publish
        FROM punctual.form f JOIN punctual.kind k ON k.ref = f.kind WHERE ${where}`,
      [value],
    )
    if (this.#formsByRef.size > mostForms) {
      this.#forms.clear()
      this.#formsByRef.clear()
    }
    for (const form of rows.map(formOfRow)) {
      this.#kinds.set(form.kind, form.kindRef)
      this.#forms.set(formText(form), form)
      this.#formsByRef.set(form.ref, form)
    }
  }

  // ── what is known ──

  kind(name: string): number {
    return this.#kinds.get(name) as number
  }

  /** The numbers of those kinds that have one. */
  kindRefs(names: readonly string[]): number[] {
    return [...new Set(names)].flatMap((name) => this.#kinds.get(name) ?? [])
  }

  form(fields: FormFields): Form {
    return this.#forms.get(formText(fields)) as Form
  }

  formByRef(ref: number): Form {
    return this.#formsByRef.get(ref) as Form
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

function useText({ kind, priority, isGated }: KindUse): string {
  return `${priority} ${isGated} ${kind}`
}
