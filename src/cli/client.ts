import type { Punctual } from '../client/punctual.ts'

/** Gives `use` a client on a store that other processes work on, and lets go of the store afterwards. */
export async function withClient<Value>(storeUrl: string, use: (punctual: Punctual) => Promise<Value>): Promise<Value> {
  const [{ createPunctual }, { openSharedStoreUrl }] = await Promise.all([
    import('../client/punctual.ts'),
    import('./store-url.ts'),
  ])
  const punctual = createPunctual({ store: await openSharedStoreUrl(storeUrl) })
  try {
    return await use(punctual)
  } finally {
    await punctual.close()
  }
}
