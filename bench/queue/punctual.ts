import type { Store } from '../../src/index.ts'
import { memory } from '../../src/store/memory/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Contestant } from '../harness/contestant.ts'
import { punctualQueue } from '../harness/punctual-queue.ts'
import { makeFile, removeFile } from './folder.ts'

const stores = {
  memory: () => memory(),
  'sqlite normal': (place: string) => sqlite(place),
  'sqlite full': (place: string) => sqlite(place, { durability: 'full' }),
} satisfies Record<string, (place: string) => Store>

/** Punctual as it comes: default options, full history. */
export function punctual(store: keyof typeof stores): Contestant {
  const isShared = store !== 'memory'
  return {
    name: `Punctual, ${store}`,
    home: new URL('contestants.ts', import.meta.url),
    isShared,
    packages: [],
    makePlace: async () => (isShared ? makeFile() : 'memory'),
    removePlace: async (place) => (isShared ? removeFile(place) : undefined),
    open: async (place) => {
      const queue = punctualQueue(stores[store](place))
      // The peer makes its tables when it is opened; here a first read does.
      await queue.isDrained(0)
      return queue
    },
  }
}
