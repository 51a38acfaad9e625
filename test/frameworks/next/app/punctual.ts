import type { Punctual } from 'punctual'
import { sqlite } from 'punctual/sqlite'
import { createJobs } from './jobs.ts'

// Development reloads modules: one client for the process. It enqueues; another process runs the jobs.
const kept = globalThis as { punctual?: Punctual }
kept.punctual ??= createJobs(sqlite('app.db'))
export const punctual = kept.punctual
