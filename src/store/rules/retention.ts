/** Whether an ended occurrence goes. `rank`: its place among those of its job and end, 1 for the newest. */
export function isPast(
  { endedBefore, count }: { readonly endedBefore: number | null; readonly count: number | null },
  endedAt: number,
  rank: number,
): boolean {
  return (endedBefore !== null && endedAt < endedBefore) || (count !== null && rank > count)
}
