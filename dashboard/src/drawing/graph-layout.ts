export interface GraphNode {
  readonly name: string
  readonly after: readonly string[]
}

export interface PlacedNode {
  readonly name: string
  readonly column: number
  readonly row: number
}

/** Columns by the longest way from a start, rows in the order of the definition. */
export function placeNodes(nodes: readonly GraphNode[]): { placed: PlacedNode[]; columns: number; rows: number } {
  const columns = new Map<string, number>()
  const columnOf = (name: string, seen: ReadonlySet<string> = new Set()): number => {
    const known = columns.get(name)
    if (known !== undefined) return known
    const node = nodes.find((one) => one.name === name)
    if (!node || seen.has(name)) return 0
    const column = Math.max(-1, ...node.after.map((before) => columnOf(before, new Set([...seen, name])))) + 1
    columns.set(name, column)
    return column
  }
  const filled: number[] = []
  const placed = nodes.map(({ name }) => {
    const column = columnOf(name)
    const row = filled[column] ?? 0
    filled[column] = row + 1
    return { name, column, row }
  })
  return { placed, columns: Math.max(1, filled.length), rows: Math.max(1, ...filled.map((count) => count ?? 0)) }
}

/** The tasks that each one waits for: in a sequence, the one before it. */
export function afterOf(
  tasks: readonly { readonly name: string; readonly after: readonly string[] | null }[],
  mode: string,
): GraphNode[] {
  return tasks.map(({ name, after }, at) => ({
    name,
    after: after ?? (mode === 'sequential' && at > 0 ? [tasks[at - 1]!.name] : []),
  }))
}
