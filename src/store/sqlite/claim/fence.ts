import type { ClaimRef, MemberWrite } from '../../store.ts'
import type { Transaction } from '../connection/transaction.ts'
import type { Entry } from '../occurrence/entry.ts'
import { isUnended } from './claim-row.ts'
import { entryOfMember } from './members.ts'

/** Which claims are valid, read once for each claim and call. */
export class Fence {
  readonly #tx: Transaction
  readonly #nodes = new Map<string, { readonly token: string; readonly node: string } | null>()

  constructor(tx: Transaction) {
    this.#tx = tx
  }

  /** The node of a valid claim, if the token is right. */
  nodeOf({ id, token }: ClaimRef): string | null {
    let claim = this.#nodes.get(id)
    if (claim === undefined) {
      claim = this.#tx.one<{ token: string; node: string }>('SELECT token, node FROM punctual_claim WHERE id = ?', id) ?? null
      this.#nodes.set(id, claim)
    }
    return claim?.token === token ? claim.node : null
  }

  /** The entry of a turn that goes on under its claim; null: it is over, or another's. */
  owned(member: MemberWrite): Entry | null {
    const entry = this.nodeOf(member.claim) === null ? null : entryOfMember(member)
    return entry && isUnended(this.#tx, entry) ? entry : null
  }
}
