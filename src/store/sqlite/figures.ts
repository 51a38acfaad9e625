import type { SQLInputValue } from 'node:sqlite'
import { figureLevels } from '../../model/figure-level.ts'
import { addedFor, figuresPast, figuresPerStep, foldedFigures, minute, widestFigure } from '../rules/figures.ts'
import { type FigureDataRow, figureRow } from '../rules/sql/figure-row.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import type { Transaction } from './connection/transaction.ts'

const insert = 'INSERT OR IGNORE INTO punctual_figure (id, tenant, job, at, width, data) VALUES (?, ?, ?, ?, ?, ?)'

export function addFigures(tx: Transaction, { id, rows }: FigureAdd): [] {
  for (const [n, { tenant, job, at, widthMs, figure }] of rows.entries())
    tx.run(insert, `${id} ${n}`, tenant, job, at, widthMs, JSON.stringify(figure))
  return []
}

export function figures(tx: Transaction, query: FigureQuery): readonly FigureRow[] {
  const { where, values } = query.byJob
    ? ofEachJob(query)
    : { where: 'tenant = ? AND job = ?', values: [query.tenant ?? '', query.job ?? ''] }
  const rows = tx.all<FigureDataRow>(
    `SELECT tenant, job, at, width, data FROM punctual_figure WHERE ${where} AND at > ? AND at < ? AND at + width > ?
      ORDER BY at DESC LIMIT ? + 0`,
    ...values,
    query.from - widestFigure,
    query.to,
    query.from,
    query.limit,
  )
  return rows.map(figureRow)
}

function ofEachJob({ tenant, job }: FigureQuery): { where: string; values: SQLInputValue[] } {
  const widths = figureLevels.map(({ widthMs }) => widthMs).join(', ')
  const own = [...(tenant === undefined ? [] : ['tenant = ?']), ...(job === undefined ? [] : ['job = ?'])]
  return {
    where: [`width IN (${widths}) AND job <> ''`, ...own].join(' AND '),
    values: [tenant, job].filter((value) => value !== undefined),
  }
}

const selectAdded = `SELECT ref, tenant, job, at, width, data FROM punctual_figure WHERE id IS NOT NULL AND at < ? LIMIT ${figuresPerStep}`
const selectOld = `SELECT ref, tenant, job, at, width, data FROM punctual_figure WHERE width = ? AND at < ? AND id IS NULL
  ORDER BY at LIMIT ${figuresPerStep}`

/** Sums up what nodes have added, and what has grown old. */
export function foldFigures(tx: Transaction): void {
  replace(tx, tx.all(selectAdded, tx.now - minute - addedFor), minute)
  for (const level of figureLevels) replace(tx, tx.all(selectOld, level.widthMs, figuresPast(level, tx.now)), level.nextMs)
}

function replace(tx: Transaction, rows: readonly (FigureDataRow & { ref: number })[], widthMs: number | null): void {
  if (rows.length === 0) return
  tx.run('DELETE FROM punctual_figure WHERE ref IN (SELECT value FROM json_each(?))', JSON.stringify(rows.map(({ ref }) => ref)))
  for (const row of widthMs === null ? [] : foldedFigures(rows.map(figureRow), widthMs))
    tx.run(insert, null, row.tenant, row.job, row.at, row.widthMs, JSON.stringify(row.figure))
}
