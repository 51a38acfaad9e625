import * as shared from '../rules/sql/tokens.ts'
import type { TokenRecord, TokenRequest } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'

export function tokens(tx: Transaction, request: TokenRequest): readonly TokenRecord[] {
  return tx.runSteps(shared.tokens(tx.now, request))
}
