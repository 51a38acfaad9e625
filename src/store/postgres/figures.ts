import * as shared from '../rules/sql/figures.ts'
import type { FigureAdd, FigureQuery, FigureRow } from '../store.ts'
import { runSteps, tryLock } from './connection/session.ts'
import { type Context, readNow } from './context.ts'

export function figures({ db }: Context, request: FigureQuery | FigureAdd): Promise<readonly FigureRow[]> {
  return runSteps(db, shared.figures(request))
}

/** One node at a time. */
export async function foldFigures(context: Context): Promise<void> {
  await context.db.transaction(async (session) => {
    if (!(await tryLock(session, 'figure'))) return
    await runSteps(session, shared.foldFigures(await readNow(session, context)))
  })
}
