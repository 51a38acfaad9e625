import { defaultTenant, type JobSpec, kindOf } from '../../model/job.ts'
import { declaredLimits } from '../../model/limit.ts'
import type { OccurrenceRecord } from '../../model/occurrence.ts'
import type { CreateAnswer, NewOccurrence } from '../store.ts'
import type { Dictionary } from './dictionary.ts'
import { insertOccurrence, isTombstoned } from './insert.ts'
import { freeAll } from './keys.ts'
import { putReady, takeOut } from './place.ts'
import { type Standing, standings } from './standing.ts'
import type { Transaction } from './transaction.ts'
import { findVersion, numberInForce } from './versions.ts'

export function create(tx: Transaction, rows: readonly NewOccurrence[]): readonly CreateAnswer[] {
  const jobs = new JobsInForce(tx)
  let earliest = Number.POSITIVE_INFINITY
  const answers = rows.map((row) => {
    const scheduledAt = tx.dueAt(row.due)
    const answer = createOne(tx, row, scheduledAt, jobs)
    if (answer.outcome !== 'existing' && answer.outcome !== 'tombstoned') earliest = Math.min(earliest, scheduledAt)
    return answer
  })
  if (earliest < Number.POSITIVE_INFINITY) tx.hints.push({ kind: 'due', at: earliest })
  return answers
}

function createOne(tx: Transaction, row: NewOccurrence, scheduledAt: number, jobs: JobsInForce): CreateAnswer {
  const series = tx.dictionary.series(row.tenant, row.job).ref
  const holder = row.unique === 'live' && row.key !== null ? liveHolder(tx, series, row.id, row.key) : undefined
  if (holder) return resolveConflict(tx, standings(tx, 'o.ref = ?', holder[0])[0] as Standing, row, scheduledAt)
  if (isTombstoned(tx, row.id)) return { id: row.id, outcome: 'tombstoned', differs: false }
  const version = row.version ?? jobs.version(series)
  const spec = jobs.specFor(series, version, row.definition)
  const declared = row.holds === 'declared' ? declaredBy(spec, row) : null
  const definition = declared?.definition ?? row.definition
  const kind = spec?.definition === definition ? kindOf(spec) : definition
  const given = { ...row, ...declared, kind, span: null, version, scheduledAt, createdAt: tx.now } as OccurrenceRecord
  if (insertOccurrence(tx, given, scheduledAt)) return { id: row.id, outcome: 'created', differs: false }
  return resolveConflict(tx, standings(tx, 'o.id = ?', row.id)[0] as Standing, row, scheduledAt)
}

/** What the job says of work that comes from a process which does not know the job: that one may have named the definition by itself. */
function declaredBy(
  spec: JobSpec | undefined,
  row: NewOccurrence,
): Pick<OccurrenceRecord, 'definition' | 'holds' | 'startWithinMs'> {
  return { definition: spec?.definition ?? row.definition, ...declaredLimits(spec, row) }
}

/** Versions never change, so that what was read of them in one transaction holds in all. */
const specsSeen = new WeakMap<Dictionary, Map<string, JobSpec>>()
const specsKept = 1000

/** Which version of each job is in force and what it says, asked once for each job. */
class JobsInForce {
  readonly #tx: Transaction
  readonly #versions = new Map<number, number>()
  readonly #own = new Map<string, JobSpec | undefined>()
  /** Rows that are created together are mostly of one job. */
  #last: { series: number; version: number; definition: string; spec: JobSpec | undefined } | null = null

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  version(series: number): number {
    const known = this.#versions.get(series)
    if (known !== undefined) return known
    const version = numberInForce(this.#tx, series, this.#tx.now) ?? 0
    this.#versions.set(series, version)
    return version
  }

  /** What the job says of work of this version; where the tenant has no such job, what the definition's own job says now. */
  specFor(series: number, version: number, definition: string): JobSpec | undefined {
    const last = this.#last
    if (last?.series === series && last.version === version && last.definition === definition) return last.spec
    const spec = this.#spec(series, version) ?? this.#ownSpec(definition)
    this.#last = { series, version, definition, spec }
    return spec
  }

  #ownSpec(definition: string): JobSpec | undefined {
    if (!this.#own.has(definition)) {
      const series = this.#tx.dictionary.findSeries(defaultTenant, definition)?.ref
      this.#own.set(definition, series === undefined ? undefined : this.#spec(series, this.version(series)))
    }
    return this.#own.get(definition)
  }

  #spec(series: number, version: number): JobSpec | undefined {
    if (version === 0) return undefined
    const name = `${series}:${version}`
    const seen = specsSeen.get(this.#tx.dictionary) ?? new Map<string, JobSpec>()
    specsSeen.set(this.#tx.dictionary, seen)
    const spec = seen.get(name) ?? findVersion(this.#tx, series, version)?.spec
    if (seen.size >= specsKept) seen.clear()
    if (spec) seen.set(name, spec)
    return spec
  }
}

/** The occurrence that has the id, else the one that has the key. */
function liveHolder(tx: Transaction, series: number, id: string, key: string): [ref: number] | undefined {
  return (
    tx.one<[number]>('SELECT ref FROM punctual_occurrence WHERE id = ?', id) ??
    tx.one<[number]>('SELECT ref FROM punctual_live_key WHERE series = ? AND key = ?', series, key)
  )
}

function resolveConflict(tx: Transaction, standing: Standing, row: NewOccurrence, scheduledAt: number): CreateAnswer {
  const { id, payload } = standing.record
  const differs = payload !== row.payload
  const { place, turn } = standing
  if (row.onConflict === 'keep' || turn !== 1 || (place !== 'ready' && place !== 'waiting'))
    return { id, outcome: 'existing', differs }
  const isReplaced = row.onConflict === 'replace'
  const { ref, series } = standing
  const priority = isReplaced ? row.priority : standing.priority
  tx.run(
    'UPDATE punctual_occurrence SET scheduled_at = ?, priority = ?, payload = ? WHERE ref = ?',
    scheduledAt,
    priority,
    isReplaced ? row.payload : payload,
    ref,
  )
  tx.blocks.noteDue(ref, scheduledAt)
  takeOut(tx, place, standing)
  putReady(tx, { ...standing, priority, dueAt: scheduledAt }, false)
  tx.tally(series, standing.state, 'pending')
  // One that has not begun gives up its place with its time.
  if (standing.hasHolds) freeAll(tx, ref)
  return { id, outcome: isReplaced ? 'replaced' : 'moved', differs: !isReplaced && differs }
}
