// The rule of a gate: the holder of a key, and the end of the key. Every store reads the row, applies the rule and writes the answer.
import { PunctualError } from '../../errors.ts'
import type {
  GateAnswer,
  GateKey,
  GateList,
  GateOutcome,
  GateRecord,
  GateReserve,
  GateResolve,
  GateWrite,
} from '../messages/gate.ts'
import type { Page } from '../query.ts'

/** A row, with what only the store knows of it. */
export interface KnownGate {
  readonly record: GateRecord
  readonly holder: string
  readonly heldUntil: number
  /** Whether the turn that reserved it goes on; true for a reservation outside of jobs. */
  readonly isTurnOpen: boolean
}

export interface GateDecision {
  readonly answer: GateAnswer
  /** The row to write, or to delete; null for no change. */
  readonly write: { readonly record: GateRecord; readonly holder: string; readonly heldUntil: number } | 'delete' | null
}

const lostHolder = 'Its process or its turn ended before the outcome was recorded'

/** The state to show: a reservation without a holder has an unknown outcome. */
export function gateRecord(known: KnownGate, now: number): GateRecord {
  const { record, heldUntil, isTurnOpen } = known
  if (record.state !== 'reserved' || (isTurnOpen && heldUntil > now)) return record
  return { ...record, state: 'unknown', reason: lostHolder }
}

/** Applies a request to what is known under its key. A reservation with `within` is written by `performed` once that has run. */
export function gateRule(stored: KnownGate | null, request: GateWrite, now: number): GateDecision {
  const isOwn = request.act === 'reserve' && isBound(request)
  const isForgotten = !isOwn && stored?.record.expiresAt != null && stored.record.expiresAt <= now
  const known = stored && !isForgotten ? { ...stored, record: gateRecord(stored, now) } : null
  if (request.act === 'reserve') return reserve(known, request, now)
  if (request.act === 'resolve') return resolve(known, request, now)
  const isHolder = known?.holder === request.holder
  const { act } = request
  if (act === 'release' && !known) return { answer: { outcome: 'released', gate: null }, write: null }
  if (act === 'record' && isHolder && known.record.state === 'done') return keep('recorded', known.record)
  if (!known || !isHolder || known.record.state === 'done') return keep('lost', known?.record ?? null)
  if (act === 'release') return { answer: { outcome: 'released', gate: null }, write: 'delete' }
  if (act === 'record') return put('recorded', ended(known.record, request, now), known)
  return put('unknown', { ...known.record, state: 'unknown', reason: request.reason, endedAt: now }, known)
}

/** Whether a key belongs to an occurrence alone: it is kept for as long as that one, which a person may retry at any time. */
export function isBound({ scope, occurrence }: Pick<GateRecord, 'scope' | 'occurrence'>): boolean {
  return scope === occurrence
}

/** For how much longer a bound key is kept whose time is over while its occurrence is there. */
export const boundKeyMs = 86_400_000

/** Whether the request has the key now: then its turn is the one that holds it, and a former one holds it no more. */
export function hasReserved(request: GateWrite, { outcome }: GateAnswer): request is GateReserve {
  return request.act === 'reserve' && (outcome === 'reserved' || outcome === 'taken')
}

/** The row after `within` has run: the effect and the outcome are in one commit. */
export function performed(record: GateRecord, request: GateReserve, result: string | null, now: number): GateDecision {
  const { holder, keepMs } = request
  return put('performed', ended(record, { result, keepMs }, now), { holder, heldUntil: now })
}

function reserve(known: KnownGate | null, request: GateReserve, now: number): GateDecision {
  const { tenant, scope, key, fingerprint, occurrence, holder, holdMs } = request
  const held = { holder, heldUntil: now + holdMs }
  const fresh: GateRecord = {
    ...{ tenant, scope, key, fingerprint, occurrence },
    ...{ state: 'reserved', tries: 1, hits: 0, reservedAt: now, endedAt: null, expiresAt: null, result: null, reason: null },
  }
  if (!known) return put('reserved', fresh, held)
  const { record } = known
  if (fingerprint !== null && record.fingerprint !== null && fingerprint !== record.fingerprint) return keep('mismatch', record)
  if (record.state === 'done') return put('done', { ...record, hits: record.hits + 1 }, known)
  if (record.state === 'reserved') return keep(known.holder !== holder ? 'busy' : record.tries > 1 ? 'taken' : 'reserved', record)
  if (!request.takesUnknown) return put('unknown', record, known)
  const tries = record.tries + 1
  return put('taken', { ...fresh, fingerprint: fingerprint ?? record.fingerprint, tries, hits: record.hits }, held)
}

function resolve(known: KnownGate | null, { to }: GateResolve, now: number): GateDecision {
  if (!known) return keep('none', null)
  const { record } = known
  if (record.state !== 'unknown') return keep(record.state === 'done' ? 'done' : 'busy', record)
  if (to === null) return { answer: { outcome: 'resolved', gate: record }, write: 'delete' }
  // No holder is left: what the former one may still report is refused.
  return put('resolved', ended(record, to, now), { holder: '', heldUntil: now })
}

function ended(record: GateRecord, { result, keepMs }: Pick<GateOutcome, 'result' | 'keepMs'>, now: number): GateRecord {
  return { ...record, state: 'done', result, reason: null, endedAt: now, expiresAt: keepMs === null ? null : now + keepMs }
}

function keep(outcome: GateAnswer['outcome'], gate: GateRecord | null): GateDecision {
  return { answer: { outcome, gate }, write: null }
}

function put(
  outcome: GateAnswer['outcome'],
  record: GateRecord,
  { holder, heldUntil }: Pick<KnownGate, 'holder' | 'heldUntil'>,
): GateDecision {
  return { answer: { outcome, gate: record }, write: { record, holder, heldUntil } }
}

/** Collects a page of the list of keys, which is ordered by tenant, scope and key. */
export class GatePage {
  readonly #list: GateList
  readonly #items: GateRecord[] = []
  /** The key behind which the next rows begin. */
  after: GateKey | null

  constructor(list: GateList) {
    this.#list = list
    this.after = list.cursor === undefined ? null : decodeCursor(list.cursor)
  }

  /** Adds the next rows, at most `limit` and one. Returns the page once it is full or these were the last. */
  add(rows: readonly KnownGate[], now: number): Page<GateRecord> | null {
    const { limit, state } = this.#list
    for (const row of rows) {
      const record = gateRecord(row, now)
      if (state !== undefined && record.state !== state) continue
      const last = this.#items.at(-1)
      if (this.#items.length === limit && last) return { items: this.#items, cursor: encodeCursor(last) }
      this.#items.push(record)
    }
    this.after = rows.at(-1)?.record ?? null
    return rows.length <= limit ? { items: this.#items, cursor: null } : null
  }
}

function encodeCursor({ tenant, scope, key }: GateKey): string {
  return Buffer.from(JSON.stringify([tenant, scope, key])).toString('base64url')
}

function decodeCursor(cursor: string): GateKey {
  try {
    const [tenant, scope, key, ...rest] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    if (rest.length === 0 && [tenant, scope, key].every((part) => typeof part === 'string'))
      return { tenant, scope, key } as GateKey
  } catch {
    // It is refused below.
  }
  throw new PunctualError('option.invalid', 'cursor must be one that a list has returned', { field: 'cursor' })
}
