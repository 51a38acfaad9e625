import { claimNothing } from '../claim.ts'
import type { Context } from '../context.ts'
import { insertNothing } from '../create/insert.ts'
import { settleNothing } from '../settle.ts'

/** As many connections as a node with little to do has in use at once. */
const connections = 3

/**
 * Joins a node, and makes connections and plans for the statements that it will send most, so its first work does not wait for them.
 * The connection of `join` is one of them.
 */
export async function joinWarm<Answer>({ db }: Context, join: () => Promise<Answer>): Promise<Answer> {
  const statements = [claimNothing, settleNothing(), insertNothing(true), insertNothing(false)]
  // An error here will come again in a verb.
  const warmUp = (count: number) => db.warmUp(count, statements).catch(() => {})
  const [answer] = await Promise.all([join(), warmUp(connections - 1)])
  await warmUp(connections)
  return answer
}
