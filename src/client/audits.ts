// The audit as a person reads and checks it.
import { type AuditAction, type AuditSeal, auditActions, isSealWhole, rowDigest } from '../model/audit.ts'
import type { Refs } from '../model/context.ts'
import { checkKey, checkName, checkObject, checkOneOf, checkOptions, checkWhole } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import { decodeCursor, encodeCursor, type Page } from '../store/query.ts'
import type { AuditLine, AuditQuery, Store } from '../store/store.ts'
import { type InstantInput, parseInstant } from '../time/instant.ts'
import type { ClientEnv } from './client-env.ts'
import { type Job, nameOf } from './job-name.ts'

const pageSize = 500

/** Which rows of the audit to list. */
export interface AuditFilter {
  tenant?: string
  job?: Job
  /** The id of an occurrence, the name of a job, or `scope/key` of an effect. */
  target?: string
  actor?: string
  action?: AuditAction
  /** The name of a business event. */
  event?: string
  /** At or after this instant. */
  from?: InstantInput
  /** Before this instant. */
  to?: InstantInput
  /** Default `newest`: the newest first. */
  order?: 'newest' | 'oldest'
  /** Default 50, at most 500. */
  limit?: number
  /** From the page before. */
  cursor?: string
}

/** One row of the audit. */
export interface AuditView {
  /** Its number, in the order of writing. */
  readonly seq: number
  readonly at: Date
  /** The person or program; SYSTEM for business events and for the scheduler itself. */
  readonly actor: string
  readonly action: AuditAction
  readonly tenant: string | null
  readonly job: string | null
  readonly target: string
  /** The target before and after the change: versions, states and times, never payloads. */
  readonly before: unknown
  readonly after: unknown
  readonly reason: string | null
  readonly event: string | null
  readonly refs: Refs
  readonly data: unknown
}

/** One fault that `verifyAudit` has found. */
export interface AuditFault {
  readonly kind: 'changed' | 'missing' | 'inserted' | 'segment'
  /** The number of the row; null for a fault of a whole segment. */
  readonly seq: number | null
  readonly segment: number | null
  readonly message: string
}

/** The finding of `verifyAudit`. */
export interface AuditVerification {
  readonly isWhole: boolean
  /** How many rows were checked, and how many of them wait for their seal. */
  readonly rows: number
  readonly unsealed: number
  readonly segments: number
  /** The hash of the last segment. Kept elsewhere, it proves later that no segment was replaced. */
  readonly hash: string | null
  readonly faults: readonly AuditFault[]
}

const names = ['tenant', 'job', 'target', 'actor', 'action', 'event', 'from', 'to', 'order', 'limit', 'cursor']

export class Audits {
  readonly #env: ClientEnv

  constructor(env: ClientEnv) {
    this.#env = env
  }

  async list(filter: AuditFilter = {}): Promise<Page<AuditView>> {
    const query = parseAuditFilter(filter)
    const rows = await this.#env.store.listAudit({ ...query, limit: query.limit + 1 })
    const items = rows.slice(0, query.limit)
    const last = items.at(-1)
    return { items: items.map(auditView), cursor: rows.length > query.limit && last ? encodeCursor(last.seq) : null }
  }

  verify(): Promise<AuditVerification> {
    return new Verification(this.#env.store).run()
  }
}

/** Goes through rows and seals side by side, in the order of the rows' numbers. */
class Verification {
  readonly #store: Store
  readonly #faults: AuditFault[] = []
  /** The rows that seals name and that were not met yet. */
  readonly #expected = new Map<number, { readonly digest: string; readonly segment: number }>()
  readonly #seals: AuditSeal[] = []

  constructor(store: Store) {
    this.#store = store
  }

  async run(): Promise<AuditVerification> {
    await this.#readSeals()
    let [rows, unsealed] = [0, 0]
    for (let beyond = 0; ; ) {
      const page: readonly AuditLine[] = await this.#store.listAudit({ of: 'rows', order: 'oldest', limit: pageSize, beyond })
      for (const row of page) {
        rows += 1
        if (!row.isSealed) unsealed += 1
        this.#check(row)
      }
      const last = page.at(-1)
      if (!last || page.length < pageSize) break
      beyond = last.seq
    }
    for (const [seq, { segment }] of this.#expected)
      this.#fault('missing', `Row ${seq} of segment ${segment} is missing`, seq, segment)
    const faults = this.#faults.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
    const hash = this.#seals.at(-1)?.hash ?? null
    return { isWhole: faults.length === 0, rows, unsealed, segments: this.#seals.length, hash, faults }
  }

  async #readSeals(): Promise<void> {
    for (let beyond = 0; ; ) {
      const page: readonly AuditSeal[] = await this.#store.listAudit({ of: 'seals', beyond, limit: pageSize })
      for (const seal of page) this.#checkSeal(seal)
      const last = page.at(-1)
      if (!last || page.length < pageSize) return
      beyond = last.segment
    }
  }

  #checkSeal(seal: AuditSeal): void {
    const before = this.#seals.at(-1)
    const expected = (before?.segment ?? 0) + 1
    if (seal.segment !== expected) this.#fault('segment', `Segment ${expected} is missing`, null, expected)
    if (!isSealWhole(seal)) this.#fault('segment', `The seal of segment ${seal.segment} was changed`, null, seal.segment)
    else if (seal.segment === expected && seal.previous !== (before?.hash ?? ''))
      this.#fault('segment', `Segment ${seal.segment} does not follow the one before`, null, seal.segment)
    this.#seals.push({ ...seal, rows: [] })
    for (const [seq, digest] of seal.rows) this.#expected.set(seq, { digest, segment: seal.segment })
  }

  #check(row: AuditLine): void {
    const { seq, isSealed } = row
    const expected = this.#expected.get(seq)
    this.#expected.delete(seq)
    if (expected && expected.digest !== rowDigest(row))
      this.#fault('changed', `Row ${seq} of segment ${expected.segment} was changed`, seq, expected.segment)
    else if (!expected && isSealed) this.#fault('inserted', `Row ${seq} was inserted: no segment has it`, seq, null)
  }

  #fault(kind: AuditFault['kind'], message: string, seq: number | null, segment: number | null): void {
    this.#faults.push({ kind, seq, segment, message })
  }
}

function parseAuditFilter(filter: AuditFilter): Extract<AuditQuery, { of: 'rows' }> {
  checkObject(filter, 'audit')
  checkOptions(filter, names, 'audit')
  const { tenant, job, target, actor, action, event, from, to, order = 'newest', limit = 50, cursor } = filter
  return {
    of: 'rows',
    order: checkOneOf(order, 'order', ['newest', 'oldest']),
    limit: checkWhole(limit, 'limit', 1, pageSize),
    ...(tenant !== undefined && { tenant: checkName(tenant, 'tenant') }),
    ...(job !== undefined && { job: nameOf(job) }),
    ...(target !== undefined && { target: checkTarget(target) }),
    ...(actor !== undefined && { actor: checkKey(actor, 'actor') }),
    ...(action !== undefined && { action: checkOneOf(action, 'action', auditActions) }),
    ...(event !== undefined && { event: checkName(event, 'event') }),
    ...(from !== undefined && { from: parseInstant(from, 'from') }),
    ...(to !== undefined && { to: parseInstant(to, 'to') }),
    ...(cursor !== undefined && { beyond: decodeCursor(cursor) }),
  }
}

/** The key of an effect is two keys in one text. */
function checkTarget(target: unknown): string {
  if (typeof target === 'string' && target.length <= 401) return target
  return checkKey(target, 'target')
}

function auditView({ act: _, isSealed: __, at, before, after, refs, data, ...row }: AuditLine): AuditView {
  return {
    ...row,
    at: new Date(at),
    before: decodePayload(before) ?? null,
    after: decodePayload(after) ?? null,
    refs: (decodePayload(refs) ?? {}) as Refs,
    data: decodePayload(data) ?? null,
  }
}
