export { drain } from './drain.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { type Probe, probe } from './probe.ts'
export { type StoreCase, type StoreSuiteOptions, storeSuite } from './store-suite.ts'
