import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, onTestFinished } from 'vitest'
import { memory } from '../../src/store/memory/index.ts'
import { sqlite } from '../../src/store/sqlite/index.ts'
import type { Store } from '../../src/store/store.ts'

/** Gives a store on the same data each time it is called, as several processes would have it. */
export type Connect = () => Store

/** Registers the same tests on every store. */
export function onEachStore(title: string, register: (newDatabase: () => Connect, name: 'memory' | 'sqlite') => void): void {
  describe.each([
    ['memory', inMemory],
    ['sqlite', inFile],
  ] as const)(`${title} (%s)`, (name, newDatabase) => register(newDatabase, name))
}

export function inMemory(): Connect {
  const store = memory()
  return () => store
}

/** A SQLite file that is gone when the test has finished. */
export function inFile(): Connect {
  const path = databasePath()
  return () => sqlite(path)
}

export function databasePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'punctual.db')
}
