import { Hono } from 'hono'
import { html } from 'hono/html'
import { jobMarks } from '../../client/job-marks.ts'
import type { JobView } from '../../client/job-view.ts'
import type { OccurrenceLine } from '../../client/occurrence-view.ts'
import type { Punctual } from '../../client/punctual.ts'
import type { Counts } from '../../client/reads.ts'
import type { Health } from '../../model/events.ts'
import { occurrenceStates } from '../../model/lifecycle.ts'
import { statusStyle } from '../status-style.ts'

const refreshSeconds = 2
const latest = 30

/** A status page: the jobs, the number of occurrences by state, and the newest. It refreshes itself. */
export function statusPageRoutes(punctual: Punctual, basePath: string): Hono {
  return new Hono()
    .get('/', async (c) => {
      const content = await readContent(punctual)
      return c.html(page(basePath, punctual.health, content), content ? 200 : 503)
    })
    .get('/status.css', (c) => c.body(statusStyle, 200, { 'Content-Type': 'text/css; charset=utf-8' }))
}

interface Content {
  readonly jobs: readonly JobView[]
  readonly counts: Counts
  readonly occurrences: readonly OccurrenceLine[]
}

/** Null when the store does not answer: the page then shows the health and its reasons. */
async function readContent(punctual: Punctual): Promise<Content | null> {
  try {
    const [{ items: jobs }, counts, { items }] = await Promise.all([
      punctual.jobs(),
      punctual.counts(),
      punctual.list({ limit: latest }),
    ])
    return { jobs, counts, occurrences: items }
  } catch {
    return null
  }
}

type Html = ReturnType<typeof html>

// The tag escapes the values in ${…}.
function page(basePath: string, health: Health, content: Content | null): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${refreshSeconds}">
<title>Punctual</title>
<link rel="stylesheet" href="${basePath}/status.css">
</head>
<body>
<header><h1>Punctual</h1><p><span class="badge health-${health.state}">${health.state}</span> ${health.reasons.join('; ')}</p></header>
<main>
${content ? body(basePath, content) : html`<p class="notice">The store does not answer. This page tries again by itself.</p>`}
</main>
<footer><p>Times are UTC. The same as JSON: <a href="${basePath}/api/v1/jobs">jobs</a>, <a href="${basePath}/api/v1/occurrences">occurrences</a>,
<a href="${basePath}/api/v1/counts">counts</a>, <a href="${basePath}/api/v1/nodes">nodes</a>.</p></footer>
</body>
</html>
`
}

function body(basePath: string, { jobs, counts, occurrences }: Content): Html {
  return html`<ul class="counts">${occurrenceStates.map((state) => html`<li><span class="badge ${state}">${state}</span> ${counts[state]}</li>`)}</ul>
<table>
<caption>Jobs</caption>
<thead><tr><th scope="col">Job</th><th scope="col">Status</th><th scope="col">Schedule</th><th scope="col">Next run</th><th scope="col">Tasks</th></tr></thead>
<tbody>${jobs.map(jobRow)}</tbody>
</table>
<table>
<caption>Newest occurrences</caption>
<thead><tr><th scope="col">State</th><th scope="col">Job</th><th scope="col">Key</th><th scope="col">Source</th><th scope="col">Due</th>
<th scope="col">Turn</th><th scope="col">Took</th><th scope="col">Error</th></tr></thead>
<tbody>${occurrences.map((line) => occurrenceRow(basePath, line))}</tbody>
</table>`
}

function jobRow(job: JobView): Html {
  return html`
<tr><th scope="row">${job.name}</th><td>${jobMarks(job).map((mark) => html`<span class="badge ${mark}">${mark}</span> `)}</td><td>${job.scheduleText ?? 'none'}</td><td>${time(job.nextRun)}</td><td>${job.tasks.map((task) => task.name).join(', ')}</td></tr>`
}

function occurrenceRow(basePath: string, line: OccurrenceLine): Html {
  const { id, state, job, key, idempotencyKey, source, dueAt, turn, startedAt, endedAt, error } = line
  const took = startedAt && endedAt ? `${endedAt.getTime() - startedAt.getTime()} ms` : ''
  return html`
<tr><td><span class="badge ${state}">${state}</span></td><th scope="row"><a href="${basePath}/api/v1/occurrences/${encodeURIComponent(id)}">${job}</a></th>
<td>${key ?? idempotencyKey ?? ''}${idempotencyKey === null ? '' : ' (idempotent)'}</td><td>${source}</td><td>${time(dueAt)}</td><td>${turn}</td><td>${took}</td><td>${error?.message.slice(0, 200) ?? ''}</td></tr>`
}

function time(at: Date | null): Html | string {
  if (!at) return ''
  const iso = at.toISOString()
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time>`
}
