import { isEnd, stateAfter, turnEnds } from '../../../model/lifecycle.ts'
import { each } from '../connection/by-key.ts'

/** The ends that no turn follows, as a list of SQL. */
export const lastEnds = turnEnds
  .filter((end) => isEnd(stateAfter[end]))
  .map((end) => `'${end}'`)
  .join(', ')

// Of what has ended for good no other table has a row.
const rowIn = (table: string) =>
  `LEFT JOIN ${each(`${table} i`, `(t."end" IS NULL OR t."end" NOT IN (${lastEnds})) AND i.series = o.series AND i.ref = o.ref`)}`

/** The rows that an occurrence `o` may have in other tables, of its turns only the last. */
export const currentRows = `LEFT JOIN LATERAL (
    SELECT i.turn, i."end", i.started_at, i.ended_at, i.due_at, i.error, i.reason FROM punctual.turn i
    WHERE i.ref = o.ref ORDER BY i.turn DESC LIMIT 1
  ) t ON true
  ${rowIn('ready')} r ON true ${rowIn('waiting')} w ON true ${rowIn('dead')} d ON true`

/** The state of an occurrence, by its `currentRows`. */
export const currentState = `CASE WHEN r.retrying THEN 'retrying' WHEN r.ref IS NOT NULL THEN 'pending'
    WHEN w.ref IS NOT NULL THEN 'waiting' WHEN d.ref IS NOT NULL THEN 'dead'
    WHEN t."end" IN (${lastEnds}) THEN t."end"::text ELSE 'running' END`
