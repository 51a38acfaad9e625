// The audit as a person reads and checks it.
import { type AuditAction, type AuditRecord, auditActions } from '../model/audit.ts'
import type { Refs } from '../model/context.ts'
import { checkName, checkNote, checkObject, checkOneOf, checkOptions, checkText, checkWhole, limits } from '../model/limits.ts'
import { decodePayload } from '../model/payload.ts'
import { decodeCursor, encodeCursor, type Page } from '../store/query.ts'
import type { AuditQuery } from '../store/store.ts'
import { type InstantInput, parseEnd } from '../time/instant.ts'
import { type AuditVerification, Verification, type VerifyAuditOptions } from './audit-verification.ts'
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

  async verify(options: VerifyAuditOptions = {}): Promise<AuditVerification> {
    checkObject(options, 'options of verifyAudit')
    checkOptions(options, ['hash'], 'options of verifyAudit')
    return new Verification(this.#env.store, options.hash === undefined ? null : checkNote(options.hash, 'hash')).run()
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
    // The target of an effect is two keys in one text.
    ...(target !== undefined && { target: checkText(target, 'target', 2 * limits.key + 1, 'key.invalid') }),
    ...(actor !== undefined && { actor: checkNote(actor, 'actor') }),
    ...(action !== undefined && { action: checkOneOf(action, 'action', auditActions) }),
    ...(event !== undefined && { event: checkName(event, 'event') }),
    ...(from !== undefined && { from: parseEnd(from, 'from') }),
    ...(to !== undefined && { to: parseEnd(to, 'to') }),
    ...(cursor !== undefined && { beyond: decodeCursor(cursor) }),
  }
}

function auditView({ act: _, at, before, after, refs, data, ...row }: AuditRecord): AuditView {
  return {
    ...row,
    at: new Date(at),
    before: decodePayload(before) ?? null,
    after: decodePayload(after) ?? null,
    refs: (decodePayload(refs) ?? {}) as Refs,
    data: decodePayload(data) ?? null,
  }
}
