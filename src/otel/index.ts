export { type MeterOptions, measureWithMeter } from './measure-with-meter.ts'
export { type TracerOptions, traceWithTracer } from './trace-with-tracer.ts'
