export {
  type BrokerAbility,
  type BrokerCase,
  type BrokerServer,
  type BrokerSuiteOptions,
  brokerSuite,
} from './broker-suite.ts'
export { drain } from './drain.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { type Probe, probe } from './probe.ts'
export { type JobRun, type RunJobOverrides, runJob } from './run-job.ts'
export { type StoreCase, type StoreSuiteOptions, storeSuite } from './store-suite.ts'
