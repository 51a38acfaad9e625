import { z } from 'zod'
import { created, explanation, occurrence, occurrenceLine, stateCounts } from '../occurrence.ts'
import { duration, json, key, limit, name, page, reason, whole } from '../part.ts'
import { idParams, inTenant, keys, occurrenceFilter, occurrenceList, when } from '../request.ts'
import { act, becauseOf, done, manage, type Operation, read } from '../row.ts'

/** Occurrences, one by one and in lists. */
export const occurrencesOperations = {
  'occurrences.list': {
    ...read,
    path: '/occurrences',
    summary: 'Occurrences, the newest first',
    query: occurrenceList,
    output: page(occurrenceLine),
  },
  'occurrences.counts': {
    ...read,
    path: '/occurrences/counts',
    summary: 'Occurrences by state; counts over a filter are capped',
    query: occurrenceFilter.omit({ state: true }),
    output: stateCounts,
  },
  'occurrences.export': {
    ...read,
    path: '/occurrences/export',
    summary: 'The same as a stream: NDJSON or CSV',
    query: occurrenceFilter.extend({ format: z.enum(['ndjson', 'csv']).optional(), limit: limit(1_000_000).optional() }),
    output: z.string(),
  },
  'occurrences.get': {
    ...read,
    path: '/occurrences/{id}',
    summary: 'One occurrence with its tasks, attempts and turns',
    params: idParams,
    output: occurrence,
  },
  'occurrences.find': {
    ...read,
    path: '/occurrence',
    summary: 'One occurrence by its job and key: the live one, else the newest',
    query: inTenant.extend({ job: name, ...keys }),
    output: occurrence,
  },
  'occurrences.cancel': {
    ...act,
    path: '/occurrences/{id}/cancel',
    summary: 'Cancel pending work, signal running work',
    params: idParams,
    body: becauseOf,
    output: done,
  },
  'occurrences.reschedule': {
    ...act,
    path: '/occurrences/{id}/reschedule',
    summary: 'Move pending work to another time',
    params: idParams,
    body: z.strictObject({ ...when, reason: reason.optional() }),
    output: done,
  },
  'occurrences.retry': {
    ...act,
    path: '/occurrences/{id}/retry',
    summary: 'Give dead work another chance, with another payload where one is given',
    params: idParams,
    body: z.strictObject({ ...when, payload: json.optional(), reason: reason.optional() }),
    output: done,
  },
  'occurrences.discard': {
    ...act,
    dangerous: true,
    path: '/occurrences/{id}/discard',
    summary: 'End dead work as canceled',
    params: idParams,
    body: becauseOf,
    output: done,
  },
  'occurrences.delete': {
    ...manage,
    dangerous: true,
    path: '/occurrences/{id}/delete',
    summary: 'Delete the record of ended or dead work',
    params: idParams,
    body: becauseOf,
    output: done,
  },
  'occurrences.prune': {
    ...manage,
    dangerous: true,
    path: '/occurrences/prune',
    summary: 'Delete the records of all work that ended longer ago, whatever its retention',
    body: z.strictObject({ olderThan: duration, reason: reason.optional() }),
    output: z.object({ pruned: whole }),
  },
  'occurrences.replay': {
    ...act,
    path: '/occurrences/{id}/replay',
    summary: 'Run ended work again, as a new occurrence',
    status: 202,
    params: idParams,
    body: z.strictObject({ reason, tasks: z.array(name).min(1).max(200).optional(), request: key.optional() }),
    output: created,
  },
  'explain.get': {
    ...read,
    path: '/explain',
    summary: 'Why a job or an occurrence has not run, or will not',
    query: inTenant.extend({ job: name.optional(), id: key.optional(), ...keys }),
    output: explanation,
  },
} as const satisfies Readonly<Record<string, Operation>>
