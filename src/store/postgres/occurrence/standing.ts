import { isEnd, stateAfter, turnEnds } from '../../../model/lifecycle.ts'

/** Where an occurrence `o` stands: the rows that it may have in other tables, of its turns only the last. */
export const standing = `LEFT JOIN punctual.ready r ON r.series = o.series AND r.ref = o.ref
  LEFT JOIN punctual.waiting w ON w.series = o.series AND w.ref = o.ref
  LEFT JOIN punctual.dead d ON d.series = o.series AND d.ref = o.ref
  LEFT JOIN LATERAL (
    SELECT i.turn, i."end", i.started_at, i.ended_at, i.due_at, i.error FROM punctual.turn i
    WHERE i.ref = o.ref ORDER BY i.turn DESC LIMIT 1
  ) t ON true`

const lastEnds = turnEnds.filter((end) => isEnd(stateAfter[end])).map((end) => `'${end}'`)

/** The state of an occurrence, by its `standing`. */
export const stateOfStanding = `CASE WHEN r.retrying THEN 'retrying' WHEN r.ref IS NOT NULL THEN 'pending'
    WHEN w.ref IS NOT NULL THEN 'waiting' WHEN d.ref IS NOT NULL THEN 'dead'
    WHEN t."end" IN (${lastEnds.join(', ')}) THEN t."end"::text ELSE 'running' END`
