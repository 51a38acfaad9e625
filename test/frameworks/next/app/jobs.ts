export { createJobs, remind } from '../../jobs.ts'
