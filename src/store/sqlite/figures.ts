import * as shared from '../rules/sql/figures.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'

export function figures(tx: Transaction, request: FigureQuery | FigureAdd): readonly FigureRow[] {
  return tx.runSteps(shared.figures(request))
}
