import { z } from 'zod'
import { fieldChange, job, scheduled, schedulePreview, status, updated, version } from '../job.ts'
import { created } from '../occurrence.ts'
import { jobsPage } from '../overview.ts'
import { duration, instant, json, key, name, reason, tenant, whole } from '../part.ts'
import { enqueue, expectedVersion, inTenant, jobList, jobParams, keys } from '../request.ts'
import { act, becauseOf, done, manage, type Operation, read } from '../row.ts'
import { patch, schedule, settings, update } from '../settings.ts'

/** Jobs: lists, changes and runs of them. */
export const jobsOperations = {
  'jobs.list': { ...read, path: '/jobs', summary: 'The jobs, by name', query: jobList, output: jobsPage },
  'jobs.get': { ...read, path: '/jobs/{job}', summary: 'One job', params: jobParams, query: inTenant, output: job },
  'jobs.status': {
    ...read,
    path: '/jobs/{job}/status',
    summary: 'Where a job stands',
    params: jobParams,
    query: inTenant,
    output: status,
  },
  'jobs.create': {
    ...manage,
    method: 'POST',
    path: '/jobs',
    summary: 'Schedule a definition under a name',
    status: 201,
    body: settings.extend({
      definition: name,
      name: name.optional(),
      tenant: tenant.optional(),
      schedule,
      payload: json.optional(),
      update: update.optional(),
    }),
    output: scheduled,
  },
  'jobs.update': {
    ...manage,
    method: 'PATCH',
    path: '/jobs/{job}',
    summary: 'Change a job; the change wins over code until it is reset',
    params: jobParams,
    query: inTenant,
    headers: expectedVersion,
    body: patch.extend({ reason: reason.optional() }),
    output: updated,
  },
  'jobs.versions': {
    ...read,
    path: '/jobs/{job}/versions',
    summary: 'The versions of a job, oldest first, and what each changed',
    params: jobParams,
    query: inTenant,
    output: z.object({ items: z.array(version) }),
  },
  'jobs.diff': {
    ...read,
    path: '/jobs/{job}/diff',
    summary: 'The differences between two versions',
    params: jobParams,
    query: inTenant.extend({ from: whole, to: whole }),
    output: z.object({ items: z.array(fieldChange) }),
  },
  'jobs.rollback': {
    ...manage,
    path: '/jobs/{job}/rollback',
    summary: 'Make an older version hold again, as a new one',
    params: jobParams,
    query: inTenant,
    headers: expectedVersion,
    body: z.strictObject({ version: z.int().min(1), update: update.optional(), reason: reason.optional() }),
    output: updated,
  },
  'jobs.reset': {
    ...manage,
    path: '/jobs/{job}/reset',
    summary: "Take a person's changes back",
    params: jobParams,
    query: inTenant,
    headers: expectedVersion,
    body: z.strictObject({
      fields: z
        .array(z.enum(['schedule', 'payload', 'settings', 'enabled']))
        .min(1)
        .optional(),
      update: update.optional(),
      reason: reason.optional(),
    }),
    output: updated,
  },
  'jobs.retire': {
    ...manage,
    dangerous: true,
    path: '/jobs/{job}/retire',
    summary: 'End a job that no code declares any more; its history stays',
    params: jobParams,
    query: inTenant,
    body: becauseOf,
    output: updated,
  },
  'jobs.pause': {
    ...act,
    path: '/jobs/{job}/pause',
    summary: 'Pause a job',
    params: jobParams,
    query: inTenant,
    body: z.strictObject({ reason: reason.optional(), until: instant.optional(), for: duration.optional() }),
    output: done,
  },
  'jobs.resume': {
    ...act,
    path: '/jobs/{job}/resume',
    summary: 'End the pause of a job',
    params: jobParams,
    query: inTenant,
    body: becauseOf,
    output: done,
  },
  'jobs.trigger': {
    ...act,
    path: '/jobs/{job}/trigger',
    summary: 'Run a job now, once, beside its schedule',
    status: 202,
    params: jobParams,
    query: inTenant,
    body: z.strictObject({ payload: json.optional(), ...keys, reason: reason.optional() }),
    output: created,
  },
  'jobs.enqueue': {
    ...act,
    // The occurrence is its own record.
    audited: false,
    path: '/jobs/{job}/occurrences',
    summary: 'Submit work of a definition or job; poll the location that is returned',
    status: 202,
    params: jobParams,
    query: inTenant,
    body: enqueue,
    output: created,
  },
  'jobs.cancel': {
    ...act,
    path: '/jobs/{job}/cancel',
    summary: 'Cancel work of a job by its key, or all that is about an entity',
    params: jobParams,
    query: inTenant,
    body: z.strictObject({ ...keys, entity: key.optional(), reason: reason.optional() }),
    output: done,
  },
  'schedules.preview': {
    ...read,
    method: 'POST',
    path: '/schedules/preview',
    summary: 'The coming instants of a schedule, and what may surprise about it',
    body: z.strictObject({ schedule, count: z.int().min(1).max(100).optional(), after: instant.optional() }),
    output: schedulePreview,
  },
} as const satisfies Readonly<Record<string, Operation>>
