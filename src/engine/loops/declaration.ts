// How code declares jobs: a person's changes stay, saying the same again writes nothing, and a node with older code does not undo
// what newer code has declared.
import { createHash } from 'node:crypto'
import { defaultTenant, isOwnJob, type JobRecord, type JobSpec, specText, taskSetText, withOverride } from '../../model/job.ts'
import { type ParsedUpdatePolicy, updateInstant } from '../../model/update.ts'
import type { AuditNote, JobPutAnswer } from '../../store/store.ts'
import type { Env } from '../env.ts'
import { allJobs } from './all-jobs.ts'
import { Timeline } from './timeline.ts'

export interface Declaration {
  readonly tenant: string
  readonly name: string
  /** The declared spec, given the known job. */
  readonly declared: (known: JobRecord | undefined) => JobSpec
  /** From when on it is to hold, given what is known; null for now. */
  readonly effectiveAt?: (known: JobRecord) => Promise<number | null>
  readonly expectedVersion?: number
  /** Of a person's act. */
  readonly audit?: AuditNote
  /** This process has declared the same before: only what other code has declared since is a reason to declare it again. */
  readonly isRepeated?: boolean
  /** A spec that equals an older version waits for two ttls before it holds again: nodes with the newest may only be restarting. */
  readonly isPatient?: boolean
  /** Sends the other nodes what this process declares. They get it before a version that differs, or would declare theirs again. */
  readonly announce?: () => Promise<unknown>
}

/** `left`: a live node declares something newer, and this process leaves the job to it. */
export type DeclarationAnswer = JobPutAnswer | { readonly outcome: 'left'; readonly job: JobRecord }

/** The parts of a node that a declaration needs. */
type DeclaringEnv = Pick<Env, 'clock' | 'store' | 'events' | 'declared' | 'unopposedSince' | 'options'>

export async function declareJob(env: DeclaringEnv, declaration: Declaration): Promise<DeclarationAnswer> {
  const { tenant, name, expectedVersion } = declaration
  for (;;) {
    const [known] = await env.store.readJobs({ tenant, name, limit: 1 })
    const declared = await withEdition(env, declaration, known, declaration.declared(known))
    if (known?.declared && declaration.isRepeated && codeText(known.declared) === codeText(declared))
      return { outcome: 'unchanged', job: known }
    if (known && (await isOutdated(env, known, declared, declaration.isPatient ?? false))) return { outcome: 'left', job: known }
    const override = known?.override ?? null
    if (declaration.announce && known?.declared && codeText(known.declared) !== codeText(declared)) {
      env.declared.set(known.id, declarationHash(declared))
      await declaration.announce()
    }
    const answer = await env.store.putJob({
      tenant,
      name,
      spec: withOverride(declared, override),
      declared,
      override,
      effectiveAt: (known && (await declaration.effectiveAt?.(known))) ?? null,
      by: declaration.audit?.actor ?? null,
      ...(declaration.audit && { audit: declaration.audit }),
      expectedVersion: expectedVersion ?? known?.version ?? 0,
    })
    if (answer.outcome !== 'conflict' && answer.job) env.declared.set(answer.job.id, declarationHash(declared))
    announceVersion(env, answer, declaration.audit?.actor)
    if (answer.outcome !== 'conflict' || expectedVersion !== undefined) return answer
  }
}

/** Emits `job.updated` for a put that has made a version. */
export function announceVersion({ events }: Pick<Env, 'events'>, { outcome, job }: JobPutAnswer, by: string | null = null): void {
  if (job && (outcome === 'created' || outcome === 'updated'))
    events.emit('job.updated', { tenant: job.tenant, job: job.name, version: job.version, by })
}

/** From when on a change of a job holds, by a policy; null for now. */
export async function effectiveInstant(
  { store, time }: Pick<Env, 'store' | 'time'>,
  known: JobRecord,
  policy: ParsedUpdatePolicy,
): Promise<number | null> {
  if (policy.grace === null) return null
  const timeline = new Timeline(known, await store.readVersions(known))
  return updateInstant(policy, time.now(), (after) => timeline.next(after)?.at ?? null)
}

/**
 * Notes which set of tasks this is. The versions of the definition's own job count the sets: a job of another name uses the one that
 * it shares, and by the present one where its tasks are none that a node has ever declared.
 */
async function withEdition(
  { store }: Pick<Env, 'store'>,
  { tenant, name }: Declaration,
  known: JobRecord | undefined,
  declared: JobSpec,
): Promise<JobSpec> {
  const { definition, tasks } = declared
  const isSame = (spec: JobSpec) => taskSetText(spec.tasks) === taskSetText(tasks)
  const edition = await (async () => {
    if (tenant === defaultTenant && name === definition)
      return !known || isSame(known.spec) ? known?.spec.edition : known.version + 1
    const versions = await store.readVersions({ tenant: defaultTenant, name: definition })
    return (versions.findLast(({ spec }) => isSame(spec)) ?? versions.at(-1))?.spec.edition
  })()
  return edition === undefined ? declared : { ...declared, edition }
}

/** Jobs that code once declared and no live node does any more: reported once, or retired where the process was asked to. */
export async function handleOrphans(env: Env, reported: Set<string>): Promise<void> {
  const { store, log, options } = env
  const { nodes } = await store.nodes()
  for await (const job of allJobs(store)) {
    if (!isOwnJob(job) || job.spec.isRetired || env.declared.has(job.id) || nodes.some(({ declares }) => job.id in declares))
      continue
    const { tenant, name, spec, declared, override, version } = job
    if (!options.retireOrphans && reported.has(job.id)) continue
    reported.add(job.id)
    if (!options.retireOrphans)
      log.warn('A job is no longer declared by any node; retire it, or create the scheduler with retireOrphans: true', {
        tenant,
        job: name,
      })
    else {
      const answer = await store.putJob({
        tenant,
        name,
        spec: { ...spec, isRetired: true },
        declared,
        override,
        effectiveAt: null,
        by: null,
        expectedVersion: version,
      })
      announceVersion(env, answer)
    }
  }
}

/** A short name for a spec, by which nodes compare what they declare. */
function declarationHash(spec: JobSpec): string {
  return createHash('sha1').update(codeText(spec)).digest('base64url').slice(0, 12)
}

/** The declaration as text: equal code has equal text in every edition. */
function codeText({ edition: _, ...spec }: JobSpec): string {
  return specText(spec)
}

/**
 * During a rolling deployment old and new code run side by side. A declaration that differs from the newest is outdated when it equals
 * an older version and a live node declares the newest, or did a moment ago, or when a live node of a later release declares the job.
 */
async function isOutdated(env: DeclaringEnv, known: JobRecord, declared: JobSpec, isPatient: boolean): Promise<boolean> {
  if (!known.declared || codeText(known.declared) === codeText(declared)) return false
  const newest = declarationHash(known.declared)
  // The process that declared the newest version may change it.
  if (env.declared.get(known.id) === newest) return false
  const { nodes } = await env.store.nodes()
  const others = nodes.flatMap(({ release, declares }) =>
    declares[known.id] === undefined ? [] : [{ release, hash: declares[known.id] }],
  )
  const { release } = env.options
  if (release !== null && others.some((other) => other.release !== null && other.release > release)) return true
  if (release !== null && others.every((other) => other.release === null || other.release <= release)) return false
  const isUnopposed = !others.some(({ hash }) => hash === newest)
  if (isUnopposed && !isPatient) return false
  // A person's changes are in neither: older versions are compared as if they had always held.
  const text = codeText(withOverride(declared, known.override))
  const versions = await env.store.readVersions(known)
  const isOlder = versions.some(
    ({ spec, version }) => version < known.version && codeText(withOverride(spec, known.override)) === text,
  )
  if (!isOlder || !isUnopposed) {
    env.unopposedSince.delete(known.id)
    return isOlder
  }
  const since = env.unopposedSince.get(known.id) ?? env.clock.mono()
  env.unopposedSince.set(known.id, since)
  return env.clock.mono() - since < 2 * env.options.ttlMs
}
