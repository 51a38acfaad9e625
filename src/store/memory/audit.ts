import { type AuditEntry, type AuditRecord, rowDigest, sealOf } from '../../model/audit.ts'
import { mostPerSegment } from '../rules/audit.ts'
import { having } from '../rules/having.ts'
import type { AuditQuery } from '../store.ts'
import type { State } from './state.ts'

/** Appends what is not there yet: an act that is repeated is written once. */
export function appendAudit(state: State, ...entries: readonly (AuditEntry | null)[]): void {
  for (const entry of entries) {
    if (!entry || state.audit.some(({ act, target }) => act === entry.act && target === entry.target)) continue
    const seq = ++state.lastAudit
    const row = { ...entry, seq, at: state.now }
    state.audit.push(row)
    state.unsealed.set(seq, rowDigest(row))
  }
}

/** Seals what was appended since, and drops whole segments whose rows are all older than `before`. */
export function sealAudit(state: State, before: number | null): void {
  const rows = [...state.unsealed].slice(0, mostPerSegment)
  const last = rows.at(-1)?.[0]
  if (last !== undefined) {
    const newestAt = Math.max(...state.audit.filter(({ seq }) => seq <= last && state.unsealed.has(seq)).map(({ at }) => at))
    state.seals.push(sealOf(rows, state.seals.at(-1) ?? null, { newestAt, now: state.now }))
    for (const [seq] of rows) state.unsealed.delete(seq)
  }
  if (before === null) return
  state.seals.forEach((seal, at) => {
    if (seal.droppedAt !== null || seal.newestAt >= before) return
    const dropped = new Set(seal.rows.map(([seq]) => seq))
    state.audit = state.audit.filter(({ seq }) => !dropped.has(seq))
    state.seals[at] = { ...seal, rows: [], droppedAt: state.now }
  })
}

export function listAudit(state: State, query: AuditQuery): readonly unknown[] {
  if (query.of === 'seals') return state.seals.filter(({ segment }) => segment > query.beyond).slice(0, query.limit)
  if (query.of === 'unsealed') return [...state.unsealed].filter(([seq]) => seq > query.beyond).slice(0, query.limit)
  const { tenant, job, target, actor, action, event, from, to, order, beyond, limit } = query
  const isNewest = order === 'newest'
  const hasFields = having({ tenant, job, target, actor, action, event })
  const isAsked = (row: AuditRecord) =>
    hasFields(row) &&
    (from === undefined || row.at >= from) &&
    (to === undefined || row.at < to) &&
    (beyond === undefined || (isNewest ? row.seq < beyond : row.seq > beyond))
  const found = state.audit.filter(isAsked)
  return (isNewest ? found.reverse() : found).slice(0, limit)
}
