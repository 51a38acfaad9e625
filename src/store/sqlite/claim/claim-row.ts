// A claim is one row: who has it, and its members as JSON. It is never updated; an end row ends a member's part in it.
import type { Transaction } from '../connection/transaction.ts'
import type { Entry } from '../occurrence/entry.ts'

export interface ClaimRow {
  readonly id: string
  readonly token: string
  readonly node: string
  readonly members: string
}

/** The part of a member that its claim keeps. */
export interface StoredMember {
  readonly ref: number
  readonly series: number
  readonly turn: number
  readonly dueAt: number
  readonly granted: number
  readonly hasBegun: boolean
}

type MemberTuple = [ref: number, series: number, turn: number, dueAt: number, granted: number, begun: number]

export function insertClaim(tx: Transaction, { id, token, node }: Omit<ClaimRow, 'members'>, members: readonly Entry[]): void {
  let text = '['
  for (const { ref, series, turn, dueAt, granted, hasBegun } of members)
    text += `${text === '[' ? '' : ','}[${ref},${series},${turn},${dueAt},${granted},${hasBegun ? 1 : 0}]`
  tx.run('INSERT INTO punctual_claim (id, token, node, members) VALUES (?, ?, ?, ?)', id, token, node, `${text}]`)
}

export function findClaim(tx: Transaction, id: string): ClaimRow | null {
  return tx.one<ClaimRow>('SELECT id, token, node, members FROM punctual_claim WHERE id = ?', id) ?? null
}

export function claimsOf(tx: Transaction, node: string): ClaimRow[] {
  return tx.all('SELECT id, token, node, members FROM punctual_claim WHERE node = ?', node)
}

export function deleteClaim(tx: Transaction, id: string): void {
  tx.run('DELETE FROM punctual_claim WHERE id = ?', id)
}

/** The members whose turn has no end row yet. `ended`: turns by ref that are known to have one. */
export function unended(
  tx: Transaction,
  { members }: Pick<ClaimRow, 'members'>,
  ended?: ReadonlyMap<number, number>,
): StoredMember[] {
  return membersIn(members).filter((member) => ended?.get(member.ref) !== member.turn && isUnended(tx, member))
}

export function isUnended(tx: Transaction, { series, ref, turn }: Pick<StoredMember, 'series' | 'ref' | 'turn'>): boolean {
  return (
    tx.one('SELECT 1 FROM punctual_turn WHERE series = ? AND ref = ? AND turn = ?', series, ref, turn) === undefined &&
    !tx.wasDeleted(ref)
  )
}

/** All that runs. Claims are few, and each has a thousand members at most. */
export function running(tx: Transaction): (StoredMember & { readonly node: string })[] {
  const claims = tx.all<Pick<ClaimRow, 'node' | 'members'>>('SELECT node, members FROM punctual_claim')
  return claims.flatMap((claim) => unended(tx, claim).map((member) => ({ ...member, node: claim.node })))
}

/** The newest part that an occurrence has in a claim. */
export function claimedMember(tx: Transaction, ref: number): (StoredMember & { readonly node: string }) | null {
  const claims = tx.all<Pick<ClaimRow, 'node' | 'members'>>(
    "SELECT node, members FROM punctual_claim WHERE instr(members, '[' || ? || ',') > 0",
    String(ref),
  )
  let newest: (StoredMember & { readonly node: string }) | null = null
  for (const { node, members } of claims)
    for (const member of membersIn(members))
      if (member.ref === ref && member.turn > (newest?.turn ?? 0)) newest = { ...member, node }
  return newest
}

function membersIn(text: string): StoredMember[] {
  return (JSON.parse(text) as MemberTuple[]).map(([ref, series, turn, dueAt, granted, begun]) => ({
    ref,
    series,
    turn,
    dueAt,
    granted,
    hasBegun: begun === 1,
  }))
}
