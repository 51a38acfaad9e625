import type { Member } from './place.ts'
import type { Transaction } from './transaction.ts'

/** A claim that stands. Its members never change, so that a copy holds for as long as its row does. */
export interface StandingClaim {
  readonly id: string
  readonly token: string
  readonly node: string
  readonly members: ReadonlyMap<number, Member>
  /** Members that are known to have ended: those that were settled through this store object. */
  readonly ended: Set<number>
}

/** The claims made through this store object: their members need not be read again when they are settled. */
export class KnownClaims {
  readonly #claims = new Map<string, StandingClaim>()

  get(id: string): StandingClaim | undefined {
    return this.#claims.get(id)
  }

  add(claim: StandingClaim): void {
    this.#claims.set(claim.id, claim)
    const [oldest] = this.#claims.keys()
    if (this.#claims.size > mostKnown && oldest !== undefined) this.#claims.delete(oldest)
  }

  delete(id: string): void {
    this.#claims.delete(id)
  }
}

const mostKnown = 1000

type ClaimRow = [id: string, token: string, node: string]
type StoredMember = [ref: number, turn: number, dueAt?: number]

export function insertClaim(tx: Transaction, { id, token, node, members }: StandingClaim): void {
  let text = ''
  for (const { ref, turn, dueAt, firstDueAt } of members.values())
    text += `${text === '' ? '' : ','}[${ref},${turn}${dueAt === firstDueAt ? '' : `,${dueAt}`}]`
  tx.run('INSERT INTO punctual_claim (id, token, node, members) VALUES (?, ?, ?, ?)', id, token, node, `[${text}]`)
}

export function findClaim(tx: Transaction, known: KnownClaims, id: string): StandingClaim | null {
  const row = tx.one<ClaimRow>('SELECT id, token, node FROM punctual_claim WHERE id = ?', id)
  if (row) return withMembers(tx, known, row)
  known.delete(id)
  return null
}

export function claimsOf(tx: Transaction, known: KnownClaims, node: string): StandingClaim[] {
  return tx
    .all<ClaimRow>('SELECT id, token, node FROM punctual_claim WHERE node = ? ORDER BY ref', node)
    .map((row) => withMembers(tx, known, row))
}

export function deleteClaim(tx: Transaction, known: KnownClaims, id: string): void {
  tx.run('DELETE FROM punctual_claim WHERE id = ?', id)
  known.delete(id)
}

/** The members whose turn has no end row yet. */
export function unended(tx: Transaction, { members }: StandingClaim): Member[] {
  return [...members.values()].filter((member) => isUnended(tx, member))
}

/** Whether a claim has members whose turn has not ended. */
export function hasUnended(tx: Transaction, { members, ended }: StandingClaim): boolean {
  return members.size > ended.size && members.values().some((member) => !ended.has(member.ref) && isUnended(tx, member))
}

export function isUnended(tx: Transaction, { ref, turn }: Member): boolean {
  const row = tx.one(
    `SELECT 1 FROM punctual_occurrence o WHERE o.ref = ?
      AND NOT EXISTS (SELECT 1 FROM punctual_turn t WHERE t.series = o.series AND t.ref = o.ref AND t.turn = ?)`,
    ref,
    turn,
  )
  return row !== undefined
}

export type Holders = ReadonlyMap<number, { readonly node: string; readonly dueAt: number | undefined }>

/** Which node holds what, and since when that was due where it is not its first due; only for `ref` when given. */
export function holders(tx: Transaction, ref?: number): Holders {
  const rows = tx.all<[string, string]>(
    "SELECT node, members FROM punctual_claim WHERE ?1 IS NULL OR instr(members, '[' || ?1 || ',') > 0",
    ref === undefined ? null : String(ref),
  )
  return new Map(
    rows.flatMap(([node, members]) =>
      (JSON.parse(members) as StoredMember[]).map(([member, , dueAt]) => [member, { node, dueAt }] as const),
    ),
  )
}

function withMembers(tx: Transaction, known: KnownClaims, [id, token, node]: ClaimRow): StandingClaim {
  const before = known.get(id)
  if (before?.token === token) return before
  const [text] = tx.one<[string]>('SELECT members FROM punctual_claim WHERE id = ?', id) as [string]
  const members = (JSON.parse(text) as StoredMember[]).flatMap((stored) => readMember(tx, stored))
  return { id, token, node, members: new Map(members.map((member) => [member.ref, member])), ended: new Set() }
}

function readMember(tx: Transaction, [ref, turn, dueAt]: StoredMember): Member[] {
  const row = tx.one<[number, number, number, number, string | null, number]>(
    `SELECT series, kind, priority, scheduled_at, CASE uniqueness WHEN 'live' THEN key END, holds IS NOT NULL
      FROM punctual_occurrence WHERE ref = ?`,
    ref,
  )
  // An occurrence that ended under a claim that was never given back may have been pruned.
  if (!row) return []
  const [series, kind, priority, firstDueAt, liveKey, hasHolds] = row
  return [
    {
      ref,
      turn,
      series,
      kind,
      priority,
      firstDueAt,
      dueAt: dueAt ?? firstDueAt,
      liveKey,
      isPlanned: false,
      startWithinMs: null,
      hasHolds: hasHolds === 1,
    },
  ]
}
