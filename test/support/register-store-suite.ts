import { describe, it } from 'vitest'
import { type StoreSuiteOptions, storeSuite } from '../../src/testing/store-suite.ts'

/** Registers the conformance suite of a store with vitest. */
export function registerStoreSuite(options: StoreSuiteOptions): void {
  describe(`the store suite on ${options.name}`, () => {
    for (const { title, skip, run } of storeSuite(options)) it.skipIf(skip !== null)(title, run)
  })
}
