/** A value of the queue. A new ticket makes its older places void. */
interface Queued {
  readonly ref: number
  readonly ticket: number
  readonly dueAt: number
}

interface Item<T> {
  readonly dueAt: number
  readonly ref: number
  readonly ticket: number
  readonly value: T
}

/**
 * Due work by kind and priority: one heap by due instant for each, so a claim never walks future rows.
 * Nothing is removed from the middle; places whose ticket has become void are dropped when they come up.
 */
export class DueQueue<T extends Queued> {
  readonly #heaps = new Map<string, Item<T>[][]>()

  push(kind: string, priority: number, value: T): void {
    const heaps = this.#heaps.get(kind) ?? Array.from({ length: 10 }, () => [])
    this.#heaps.set(kind, heaps)
    up(heaps[priority] as Item<T>[], { dueAt: value.dueAt, ref: value.ref, ticket: value.ticket, value })
  }

  /** The first of all that is due, by priority, then due, then age. It stays first until its ticket is void. */
  first(kinds: readonly string[], now: number): T | null {
    const byKind = this.#byKind(kinds)
    for (let priority = 0; priority < 10; priority++) {
      let first: Item<T> | undefined
      for (const heaps of byKind) first = earlier(first, standingHead(heaps[priority] as Item<T>[]))
      if (first && first.dueAt <= now) return first.value
    }
    return null
  }

  /** The first of these kinds by due, then age. */
  earliest(kinds: Iterable<string>): T | null {
    let first: Item<T> | undefined
    for (const heaps of this.#byKind(kinds)) for (const heap of heaps) first = earlier(first, standingHead(heap))
    return first?.value ?? null
  }

  /** Everything that is due, in the order in which it would be taken; nothing is removed. */
  due(kinds: readonly string[], now: number): T[] {
    const heaps = kinds.flatMap((kind) => this.#heaps.get(kind) ?? [])
    const items = heaps.flatMap((heap, at) =>
      heap.filter((item) => isCurrent(item) && item.dueAt <= now).map((item) => ({ item, priority: at % 10 })),
    )
    return items.sort((a, b) => a.priority - b.priority || (before(a.item, b.item) ? -1 : 1)).map(({ item }) => item.value)
  }

  /** The next due instant after `now`. */
  nextDueAfter(kinds: readonly string[], now: number): number | null {
    let next: number | null = null
    for (const heaps of this.#byKind(kinds))
      for (const item of heaps.flat())
        if (isCurrent(item) && item.dueAt > now && (next === null || item.dueAt < next)) next = item.dueAt
    return next
  }

  /** The kinds of which something is due. */
  kindsDue(now: number): string[] {
    return [...this.#heaps.keys()].filter((kind) => this.first([kind], now) !== null)
  }

  /** The heaps of each kind, by priority. */
  #byKind(kinds: Iterable<string>): Item<T>[][][] {
    const byKind: Item<T>[][][] = []
    for (const kind of kinds) {
      const heaps = this.#heaps.get(kind)
      if (heaps) byKind.push(heaps)
    }
    return byKind
  }
}

function isCurrent(item: Item<Queued>): boolean {
  return item.ticket === item.value.ticket
}

/** The head of a heap, after dropping void ones. */
function standingHead<T extends Queued>(heap: Item<T>[]): Item<T> | undefined {
  while (heap[0] && !isCurrent(heap[0])) down(heap)
  return heap[0]
}

function earlier<T>(a: Item<T> | undefined, b: Item<T> | undefined): Item<T> | undefined {
  return a && b ? (before(b, a) ? b : a) : (a ?? b)
}

function before(a: Item<unknown>, b: Item<unknown>): boolean {
  return a.dueAt < b.dueAt || (a.dueAt === b.dueAt && a.ref < b.ref)
}

function up<T>(heap: Item<T>[], item: Item<T>): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (!before(item, heap[parent] as Item<T>)) break
    heap[at] = heap[parent] as Item<T>
    at = parent
  }
  heap[at] = item
}

function down<T>(heap: Item<T>[]): Item<T> {
  const head = heap[0] as Item<T>
  const item = heap.pop() as Item<T>
  if (heap.length === 0) return head
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child + 1 < heap.length && before(heap[child + 1] as Item<T>, heap[child] as Item<T>)) child++
    if (child >= heap.length || !before(heap[child] as Item<T>, item)) break
    heap[at] = heap[child] as Item<T>
    at = child
  }
  heap[at] = item
  return head
}
