import { randomUUID } from 'node:crypto'
import type { NodeInfo } from '../../src/store/store.ts'

/** A node of a process that works on a store by its verbs alone, without an engine. */
export function loneNode(name: string): NodeInfo {
  return {
    boot: randomUUID(),
    name,
    pid: process.pid,
    concurrency: 1,
    kinds: ['mail'],
    version: '0',
    tz: '',
    ttlMs: 3_600_000,
    release: null,
    declares: {},
    picks: false,
    isDraining: false,
    parts: {},
  }
}
