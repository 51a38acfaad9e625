import { z } from 'zod'
import { calendar, calendarCell, figures, overview, timeline } from '../overview.ts'
import { limit, name } from '../part.ts'
import { inTenant, span } from '../request.ts'
import { type Operation, read } from '../row.ts'

/** The data of the overview and the calendar. */
export const boardOperations = {
  'overview.get': {
    ...read,
    path: '/overview',
    summary: 'What is wrong, what runs, what comes next',
    query: inTenant,
    output: overview,
  },
  'timeline.get': {
    ...read,
    path: '/timeline',
    summary: 'Past and coming instants, job by job',
    query: span.extend({ jobs: limit(200).optional() }),
    output: timeline,
  },
  'figures.get': {
    ...read,
    path: '/figures',
    summary: 'Throughput, lateness, waits, run times and counts over time',
    query: span.extend({
      step: z
        .int()
        .min(60_000)
        .max(86_400_000 * 31)
        .optional(),
    }),
    output: figures,
  },
  'calendar.get': {
    ...read,
    path: '/calendar',
    summary: 'Runs by hour, past and to come',
    query: span.extend({ timezone: name.optional() }),
    output: calendar,
  },
  'calendar.cell': {
    ...read,
    path: '/calendar/cell',
    summary: 'One span of the calendar by job and minute',
    query: span,
    output: calendarCell,
  },
} as const satisfies Readonly<Record<string, Operation>>
