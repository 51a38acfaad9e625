/** An instant, or a delay from the store's now. */
export type Due = number | { readonly in: number }
