import { claimNothing } from '../claim.ts'
import type { Context } from '../context.ts'
import { insertNothing } from '../create/insert.ts'
import { settleNothing } from '../settle.ts'

/** As many as a node with little to do has in use at once. */
const connections = 3

/** Makes connections and plans for the statements that a node sends most, so its first work does not wait for them. */
export async function warmUp({ db }: Context, channel: string): Promise<void> {
  // An error here will come again in a verb.
  await db.warmUp(connections, [insertNothing(channel), claimNothing, settleNothing()]).catch(() => {})
}
