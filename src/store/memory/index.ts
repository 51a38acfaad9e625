import type { Store } from '../store.ts'
import { MemoryStore } from './memory-store.ts'

/** A store in this process's memory: for tests, trials, and work that may be forgotten with the process. */
export function memory(): Store {
  return new MemoryStore()
}
