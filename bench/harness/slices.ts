/** Hands on at most `size` of the items at a time, each slice after the one before it is done with. */
export async function inSlices<Item>(
  items: readonly Item[],
  size: number,
  use: (slice: readonly Item[]) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < items.length; at += size) await use(items.slice(at, at + size))
}
