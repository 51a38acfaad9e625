// Compares the rows of the audit with the digests that were kept of them.
import { type AuditDigest, type AuditRecord, type AuditSeal, isSealWhole, rowDigest } from '../model/audit.ts'
import type { Store } from '../store/store.ts'

const pageSize = 500
/** A seal names up to 1,000 rows. */
const sealsPerPage = 20

/** The options of `verifyAudit`. */
export interface VerifyAuditOptions {
  /** The `hash` of an earlier verification: one of the segments must have it. */
  hash?: string
}

/** One fault that `verifyAudit` has found. */
export interface AuditFault {
  readonly kind: 'changed' | 'missing' | 'inserted' | 'segment'
  /** The number of the row; null for a fault of a whole segment. */
  readonly seq: number | null
  /** Null for a row that waits for its seal, and for one that was inserted. */
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
  /** How many of the segments have lost their rows to retention. */
  readonly dropped: number
  /** The hash of the last segment. Kept elsewhere, it proves later that no segment was replaced or cut off. */
  readonly hash: string | null
  readonly faults: readonly AuditFault[]
}

interface Expected {
  readonly digest: string
  /** Null: it waits for its seal. */
  readonly segment: number | null
}

/**
 * Reads the digests first and the rows after them, while others append, seal and drop rows. A row or a digest without its counterpart is looked up
 * once more at the end.
 */
export class Verification {
  readonly #store: Store
  readonly #hash: string | null
  readonly #faults: AuditFault[] = []
  /** The digests whose rows were not met yet. */
  readonly #expected = new Map<number, Expected>()
  /** The rows that no digest was known of. */
  readonly #strange = new Map<number, AuditRecord>()
  readonly #seals: AuditSeal[] = []

  constructor(store: Store, hash: string | null) {
    this.#store = store
    this.#hash = hash
  }

  async run(): Promise<AuditVerification> {
    const unsealed = await this.#readUnsealed(([seq, digest]) => void this.#expected.set(seq, { digest, segment: null }))
    await this.#readSeals()
    const rows = await this.#readRows()
    await this.#lookAgain()
    for (const [seq, { segment }] of this.#expected) this.#fault('missing', `${named(seq, segment)} is missing`, seq, segment)
    for (const seq of this.#strange.keys())
      this.#fault('inserted', `Row ${seq} was inserted: neither a segment nor the list of unsealed rows has it`, seq, null)
    const seals = this.#seals
    if (this.#hash !== null && !seals.some(({ hash }) => hash === this.#hash))
      this.#fault('segment', `No segment has the hash ${this.#hash}: segments were replaced or removed`, null, null)
    const faults = this.#faults.toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
    const dropped = seals.filter(({ droppedAt }) => droppedAt !== null).length
    const hash = seals.at(-1)?.hash ?? null
    return { isWhole: faults.length === 0, rows, unsealed, segments: seals.length, dropped, hash, faults }
  }

  async #readSeals(): Promise<void> {
    for await (const seal of this.#sealsBeyond(0)) {
      this.#checkSeal(seal)
      this.#seals.push({ ...seal, rows: [] })
      for (const [seq, digest] of seal.rows) this.#expected.set(seq, { digest, segment: seal.segment })
    }
  }

  #checkSeal(seal: AuditSeal): void {
    const before = this.#seals.at(-1)
    const expected = (before?.segment ?? 0) + 1
    if (seal.segment !== expected) this.#fault('segment', `Segment ${expected} is missing`, null, expected)
    if (!isSealWhole(seal)) this.#fault('segment', `The seal of segment ${seal.segment} was changed`, null, seal.segment)
    else if (seal.segment === expected && seal.previous !== (before?.hash ?? ''))
      this.#fault('segment', `Segment ${seal.segment} does not follow the one before`, null, seal.segment)
  }

  async #readRows(): Promise<number> {
    let count = 0
    for (let beyond = 0; ; ) {
      const page = await this.#store.listAudit({ of: 'rows', order: 'oldest', limit: pageSize, beyond })
      for (const row of page) this.#meet(row)
      count += page.length
      const last = page.at(-1)
      if (!last || page.length < pageSize) return count
      beyond = last.seq
    }
  }

  #meet(row: AuditRecord): void {
    const expected = this.#expected.get(row.seq)
    this.#expected.delete(row.seq)
    if (expected) this.#compare(row, expected)
    else this.#strange.set(row.seq, row)
  }

  #compare(row: AuditRecord, { digest, segment }: Expected): void {
    if (digest !== rowDigest(row)) this.#fault('changed', `${named(row.seq, segment)} was changed`, row.seq, segment)
  }

  /** Rows that were appended meanwhile have digests by now; rows that are gone may have been dropped with their segment. */
  async #lookAgain(): Promise<void> {
    if (this.#strange.size === 0 && this.#expected.size === 0) return
    const find = (segment: number | null, [seq, digest]: AuditDigest) => {
      const row = this.#strange.get(seq)
      if (row) this.#compare(row, { digest, segment })
      this.#strange.delete(seq)
    }
    await this.#readUnsealed((digest) => find(null, digest))
    const known = new Set(this.#seals.filter(({ droppedAt }) => droppedAt !== null).map(({ segment }) => segment))
    const newest = this.#seals.at(-1)?.segment ?? 0
    for await (const { segment, rows, droppedAt, first, last } of this.#sealsBeyond(this.#expected.size > 0 ? 0 : newest)) {
      for (const digest of rows) find(segment, digest)
      if (droppedAt === null || known.has(segment)) continue
      for (const seq of [...this.#expected.keys()]) if (seq >= first && seq <= last) this.#expected.delete(seq)
    }
  }

  async #readUnsealed(take: (digest: AuditDigest) => void): Promise<number> {
    let count = 0
    for (let beyond = 0; ; ) {
      const page = await this.#store.listAudit({ of: 'unsealed', beyond, limit: pageSize })
      page.forEach(take)
      count += page.length
      const last = page.at(-1)
      if (!last || page.length < pageSize) return count
      beyond = last[0]
    }
  }

  async *#sealsBeyond(newest: number): AsyncIterable<AuditSeal> {
    for (let beyond = newest; ; ) {
      const page = await this.#store.listAudit({ of: 'seals', beyond, limit: sealsPerPage })
      yield* page
      const last = page.at(-1)
      if (!last || page.length < sealsPerPage) return
      beyond = last.segment
    }
  }

  #fault(kind: AuditFault['kind'], message: string, seq: number | null, segment: number | null): void {
    this.#faults.push({ kind, seq, segment, message })
  }
}

function named(seq: number, segment: number | null): string {
  return segment === null ? `Row ${seq} without a seal yet` : `Row ${seq} of segment ${segment}`
}
