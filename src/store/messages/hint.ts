/** Hints from other processes, where the store can deliver them. Missing one costs time, never work. */
export interface Hints {
  subscribe(listener: (hint: Hint) => void): () => void
  /** Sends all nodes the hint that something may be due or canceled. For commits that send no hints by themselves: a caller's transaction. */
  wake(): Promise<void>
  /** Whether hints of other processes arrive at present, so polls may be rarer. */
  readonly isLive: boolean
}

/** `due`: work is due at that instant, or now if it has passed. `cancel`: of something that runs on this node, or the node is to drain. `job`: a job or pause has changed. */
export type Hint =
  | { readonly kind: 'due'; readonly at: number }
  | { readonly kind: 'cancel'; readonly node: string }
  | { readonly kind: 'job' }
