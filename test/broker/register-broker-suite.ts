import { describe, it } from 'vitest'
import { type BrokerSuiteOptions, brokerSuite } from '../../src/testing/broker-suite.ts'

/** Registers the conformance suite of a broker with vitest. */
export function registerBrokerSuite(options: BrokerSuiteOptions): void {
  describe(`TS-9 the broker suite on ${options.name}`, () => {
    for (const { title, skip, run } of brokerSuite(options)) it.skipIf(skip !== null)(title, run)
  })
}
