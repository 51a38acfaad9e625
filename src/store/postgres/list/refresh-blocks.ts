import type { Context } from '../context.ts'

/** How many pages the index says one thing about: what BRIN does when it is not told otherwise. */
const pagesPerBlock = 128
/** Some twenty times as many rows as one call prunes, so all are read long before their room is taken again. */
const blocksAtOnce = 2

// Other sessions that look after the table go before: they would be waited for, or be sent away.
const yieldToOthers = "SET LOCAL lock_timeout = '50ms'"

const refresh = `SELECT brin_desummarize_range(i.index, b.page), brin_summarize_range(i.index, b.page)
  FROM (SELECT 'punctual.occurrence_created'::regclass AS index,
      pg_relation_size('punctual.occurrence') / current_setting('block_size')::int AS pages) i
  CROSS JOIN LATERAL generate_series($1::bigint, least($1::bigint + ${pagesPerBlock * blocksAtOnce}, i.pages) - 1, ${pagesPerBlock}) b (page)`

/**
 * Has the index by which lists pass over parts of the table look at some of them anew, from a page on, and says from which to go on.
 * Where new rows take the room of pruned ones, it would otherwise remember the times of both for ever, and pass over nothing.
 */
export async function refreshBlocks({ db }: Context, from: number): Promise<number> {
  try {
    return await db.transaction(async (session) => {
      await session.rows(yieldToOthers)
      const { length } = await session.rows(refresh, [from])
      return length < blocksAtOnce ? 0 : from + length * pagesPerBlock
    })
  } catch {
    // It is only about speed: the next call tries the same again.
    return from
  }
}
