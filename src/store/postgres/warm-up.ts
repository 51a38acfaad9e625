import { claimNothing } from './claim.ts'
import type { Context } from './context.ts'
import { endNothing } from './end-turns.ts'
import { insertNothing } from './insert-new.ts'

/** As many as a node with little to do has in use at once. */
const connections = 3

/** Has the connections of a node that joins ready for what it says most, so that its first work does not wait for plans. */
export async function warmUp({ db, isCompat }: Context, channel: string): Promise<void> {
  if (isCompat) return
  // What fails here will fail again where it matters.
  await db.warmUp(connections, [insertNothing(channel), claimNothing, endNothing]).catch(() => {})
}
