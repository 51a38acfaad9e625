import type { OperationName, WireInput, WireOperationRequest, WireOutput } from '../../../src/http/wire.ts'
import { get, post, type Query, write } from './request.ts'

type Answer<Name extends OperationName> = Promise<WireOutput<Name>>
type Body<Name extends OperationName> = WireInput<Name>['body']

/** A job by its tenant and name. */
export interface JobRef {
  readonly tenant: string
  readonly name: string
}

const jobPath = ({ tenant, name }: JobRef, rest = '') =>
  `jobs/${encodeURIComponent(name)}${rest}?tenant=${encodeURIComponent(tenant)}`
const idPath = (id: string, rest = '') => `occurrences/${encodeURIComponent(id)}${rest}`
const ifVersion = (version: number) => ({ 'If-Match': `"${version}"` })

/** The operations of the server that the dashboard uses. */
export const api = {
  session: (signal?: AbortSignal): Answer<'session.get'> => get('session', {}, signal),
  login: (token: string): Answer<'session.open'> => post('session', { token }),
  logout: (): Answer<'session.close'> => write('DELETE', 'session'),
  server: (signal?: AbortSignal): Answer<'server.get'> => get('server', {}, signal),
  overview: (query: Query, signal?: AbortSignal): Answer<'overview.get'> => get('overview', query, signal),
  timeline: (query: Query, signal?: AbortSignal): Answer<'timeline.get'> => get('timeline', query, signal),
  figures: (query: Query, signal?: AbortSignal): Answer<'figures.get'> => get('figures', query, signal),
  calendar: (query: Query, signal?: AbortSignal): Answer<'calendar.get'> => get('calendar', query, signal),
  calendarCell: (query: Query, signal?: AbortSignal): Answer<'calendar.cell'> => get('calendar/cell', query, signal),

  jobs: (query: Query, signal?: AbortSignal): Answer<'jobs.list'> => get('jobs', query, signal),
  job: (job: JobRef, signal?: AbortSignal): Answer<'jobs.get'> => get(jobPath(job), {}, signal),
  versions: (job: JobRef, signal?: AbortSignal): Answer<'jobs.versions'> => get(jobPath(job, '/versions'), {}, signal),
  updateJob: (job: JobRef, version: number, body: Body<'jobs.update'>): Answer<'jobs.update'> =>
    write('PATCH', jobPath(job), body, ifVersion(version)),
  rollback: (job: JobRef, current: number, version: number): Answer<'jobs.rollback'> =>
    post(jobPath(job, '/rollback'), { version }, ifVersion(current)),
  reset: (job: JobRef, current: number): Answer<'jobs.reset'> => post(jobPath(job, '/reset'), {}, ifVersion(current)),
  retire: (job: JobRef): Answer<'jobs.retire'> => post(jobPath(job, '/retire')),
  pause: (job: JobRef, body: Body<'jobs.pause'>): Answer<'jobs.pause'> => post(jobPath(job, '/pause'), body),
  resume: (job: JobRef): Answer<'jobs.resume'> => post(jobPath(job, '/resume')),
  trigger: (job: JobRef, body: Body<'jobs.trigger'>): Answer<'jobs.trigger'> => post(jobPath(job, '/trigger'), body),
  preview: (body: Body<'schedules.preview'>): Answer<'schedules.preview'> => post('schedules/preview', body),

  occurrences: (query: Query, signal?: AbortSignal): Answer<'occurrences.list'> => get('occurrences', query, signal),
  occurrenceCounts: (query: Query, signal?: AbortSignal): Answer<'occurrences.counts'> =>
    get('occurrences/counts', query, signal),
  occurrence: (id: string, signal?: AbortSignal): Answer<'occurrences.get'> => get(idPath(id), {}, signal),
  cancel: (id: string, body: Body<'occurrences.cancel'>): Answer<'occurrences.cancel'> => post(idPath(id, '/cancel'), body),
  reschedule: (id: string, body: Body<'occurrences.reschedule'>): Answer<'occurrences.reschedule'> =>
    post(idPath(id, '/reschedule'), body),
  retry: (id: string, body: Body<'occurrences.retry'>): Answer<'occurrences.retry'> => post(idPath(id, '/retry'), body),
  discard: (id: string, body: Body<'occurrences.discard'>): Answer<'occurrences.discard'> => post(idPath(id, '/discard'), body),
  replay: (id: string, body: Body<'occurrences.replay'>): Answer<'occurrences.replay'> => post(idPath(id, '/replay'), body),
  explain: (query: Query, signal?: AbortSignal): Answer<'explain.get'> => get('explain', query, signal),

  dead: (query: Query, signal?: AbortSignal): Answer<'dead.list'> => get('dead-letters', query, signal),
  operations: (query: Query, signal?: AbortSignal): Answer<'operations.list'> => get('operations', query, signal),
  operation: (id: string, signal?: AbortSignal): Answer<'operations.get'> => get(`operations/${id}`, {}, signal),
  previewOperation: (body: WireOperationRequest): Answer<'operations.preview'> => post('operations/preview', body),
  startOperation: (body: WireOperationRequest): Answer<'operations.start'> => post('operations', body),
  abortOperation: (id: string): Answer<'operations.abort'> => post(`operations/${id}/abort`),

  pauses: (signal?: AbortSignal): Answer<'pauses.list'> => get('pauses', {}, signal),
  pauseAll: (body: Body<'pauses.open'>): Answer<'pauses.open'> => post('pauses', body),
  resumeAll: (body: Body<'pauses.close'>): Answer<'pauses.close'> => post('pauses/close', body),
  tenants: (signal?: AbortSignal): Answer<'tenants.list'> => get('tenants', {}, signal),
  nodes: (signal?: AbortSignal): Answer<'nodes.list'> => get('nodes', {}, signal),
  drainNode: (boot: string, body: Body<'nodes.drain'>): Answer<'nodes.drain'> =>
    post(`nodes/${encodeURIComponent(boot)}/drain`, body),
  gates: (query: Query, signal?: AbortSignal): Answer<'gates.list'> => get('gates', query, signal),
  resolveGate: (tenant: string, body: Body<'gates.resolve'>): Answer<'gates.resolve'> =>
    post(`gates/resolve?tenant=${encodeURIComponent(tenant)}`, body),
  audit: (query: Query, signal?: AbortSignal): Answer<'audit.list'> => get('audit', query, signal),
  timers: (query: Query, signal?: AbortSignal): Answer<'timers.get'> => get('timers', query, signal),
  tokens: (signal?: AbortSignal): Answer<'tokens.list'> => get('tokens', {}, signal),
  createToken: (body: Body<'tokens.create'>): Answer<'tokens.create'> => post('tokens', body),
  revokeToken: (id: string): Answer<'tokens.revoke'> => write('DELETE', `tokens/${encodeURIComponent(id)}`),
}
