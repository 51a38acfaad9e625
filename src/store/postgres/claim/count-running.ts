import { endOf, lacks } from '../connection/by-key.ts'

/** How many occurrences run in the whole cluster. */
export const countRunning = `SELECT count(*) AS running FROM punctual.claim a CROSS JOIN LATERAL unnest(a.refs, a.turns) m (ref, turn)
  WHERE ${lacks('turn', endOf('m'))}`
