// How code declares jobs: a person's changes stay, saying the same again writes nothing, and a node with older code does not undo
// what newer code has declared.
import { createHash } from 'node:crypto'
import { type JobRecord, type JobSpec, specText, withOverride } from '../model/job.ts'
import type { JobPutAnswer } from '../store/store.ts'
import type { Env } from './env.ts'

export interface Declaration {
  readonly tenant: string
  readonly name: string
  /** What is declared, given what is known of the job. */
  readonly declared: (known: JobRecord | undefined) => JobSpec
  /** From when on it is to hold, given what is known; null for now. */
  readonly effectiveAt?: (known: JobRecord) => Promise<number | null>
  readonly expectedVersion?: number
}

/** `left`: a live node declares something newer, and this process stands back. */
export type DeclarationAnswer = JobPutAnswer | { readonly outcome: 'left'; readonly job: JobRecord }

export async function declareJob(env: Env, declaration: Declaration): Promise<DeclarationAnswer> {
  const { tenant, name, expectedVersion } = declaration
  for (;;) {
    const [known] = await env.store.readJobs({ tenant, name, limit: 1 })
    const declared = declaration.declared(known)
    if (known && (await isOutdated(env, known, declared))) return { outcome: 'left', job: known }
    const override = known?.override ?? null
    const answer = await env.store.putJob({
      tenant,
      name,
      spec: withOverride(declared, override),
      declared,
      override,
      effectiveAt: (known && (await declaration.effectiveAt?.(known))) ?? null,
      by: null,
      expectedVersion: expectedVersion ?? known?.version ?? 0,
    })
    if (answer.outcome !== 'conflict' && answer.job) env.declared.set(answer.job.id, declarationHash(declared))
    if (answer.outcome !== 'conflict' || expectedVersion !== undefined) return answer
  }
}

/** Jobs that code once declared and no live node does any more: told once, or retired where the process was asked to. */
export async function handleOrphans(env: Env, told: Set<string>): Promise<void> {
  const { store, log, options } = env
  const { nodes } = await store.nodes()
  const jobs = await store.readJobs({ limit: 1000 })
  for (const job of jobs) {
    if (!job.declared || job.spec.isRetired || env.declared.has(job.id) || nodes.some(({ declares }) => job.id in declares)) continue
    const { tenant, name, spec, declared, override, version } = job
    if (!options.retireOrphans && told.has(job.id)) continue
    told.add(job.id)
    if (!options.retireOrphans) log.warn('A job is no longer declared by any node; retire it, or create the scheduler with prune: true', { tenant, job: name })
    else await store.putJob({ tenant, name, spec: { ...spec, isRetired: true }, declared, override, effectiveAt: null, by: null, expectedVersion: version })
  }
}

/** A short name for a spec, by which nodes tell each other what they declare. */
export function declarationHash(spec: JobSpec): string {
  return createHash('sha1').update(specText(spec)).digest('base64url').slice(0, 12)
}

/**
 * During a rolling deployment old and new code run side by side. What differs from the newest declaration is outdated when it equals
 * an older version and a live node declares the newest, or when a live node of a later release declares the job at all.
 */
async function isOutdated(env: Env, known: JobRecord, declared: JobSpec): Promise<boolean> {
  if (!known.declared || specText(known.declared) === specText(declared)) return false
  const { nodes } = await env.store.nodes()
  const others = nodes.flatMap(({ release, declares }) => (declares[known.id] === undefined ? [] : [{ release, hash: declares[known.id] }]))
  const { release } = env.options
  if (release !== null && others.some((other) => other.release !== null && other.release > release)) return true
  if (release !== null && others.every((other) => other.release === null || other.release <= release)) return false
  if (!others.some(({ hash }) => hash === declarationHash(known.declared as JobSpec))) return false
  // What a person has changed since is in neither: older versions are compared as if it had always been so.
  const text = specText(withOverride(declared, known.override))
  const versions = await env.store.readVersions(known)
  return versions.some(({ spec, version }) => version < known.version && specText(withOverride(spec, known.override)) === text)
}
