/**
 * Measures every contestant once, then every one again, and so on: what disturbs the machine for a while disturbs them alike.
 * Each round begins with another one: none always follows the same neighbour.
 */
export async function inRounds<Contestant extends { readonly name: string }, Result>(
  contestants: readonly Contestant[],
  rounds: number,
  measure: (contestant: Contestant) => Promise<Result>,
): Promise<Map<Contestant, Result[]>> {
  const results = new Map<Contestant, Result[]>(contestants.map((contestant) => [contestant, []]))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const contestant = contestants[(round + turn) % contestants.length] as Contestant
      try {
        results.get(contestant)?.push(await measure(contestant))
      } catch (cause) {
        throw new Error(`${contestant.name} failed in round ${round + 1}`, { cause })
      }
    }
  }
  return results
}
