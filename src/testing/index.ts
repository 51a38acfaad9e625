export { type ManualClock, manualClock } from './manual-clock.ts'
export { type StoreCase, type StoreSuiteOptions, storeSuite } from './store-suite.ts'
