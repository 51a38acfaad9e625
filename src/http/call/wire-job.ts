import { z } from 'zod'
import type { JobRecord } from '../../model/job.ts'
import { covers } from '../../model/pause.ts'
import { decodePayload } from '../../model/payload.ts'
import { redacted } from '../../model/redaction.ts'
import { cascade } from '../../model/settings.ts'
import { hasRole } from '../access/identity.ts'
import { workOf } from '../board/board.ts'
import { jobLine, scheduleFacts } from '../board/job-line.ts'
import { iso, isoOrNull } from '../board/line.ts'
import type { WireJob } from '../wire.ts'
import type { Call } from './call.ts'

/** One job in full. */
export async function wireJob(call: Call<'jobs.get'>, record: JobRecord): Promise<WireJob> {
  const { board, env } = call.desk
  const { tenant, name, spec, declared, override, createdAt, id } = record
  const facts = await board.facts(call.caller.tenants === null ? undefined : tenant)
  const [line, { states }] = await Promise.all([jobLine(board, record, facts), env.store.counts(workOf(record, facts))])
  const ran = line.recent.filter(({ state }) => ['completed', 'failed', 'dead'].includes(state))
  return {
    ...line,
    payload: hasRole(call.caller, 'operator') ? (redacted(decodePayload(spec.payload), hiddenPaths(call, spec)) ?? null) : null,
    settings: { ...cascade(env.options.settings, spec.defaults, spec.settings) },
    declared: declared && override ? { schedule: scheduleFacts(declared.schedule), settings: { ...declared.settings } } : null,
    taskGraph: spec.tasks.map((task) => ({
      name: task.name,
      after: task.after ? [...task.after] : null,
      settings: { ...task.settings },
    })),
    counts: { ...states },
    pauses: facts.pauses
      .filter((pause) => covers(pause, tenant, name))
      .map((pause) => ({ ...pauseScope(pause), from: iso(pause.from), until: isoOrNull(pause.to) })),
    declaredBy: facts.nodes.filter(({ declares }) => id in declares).map(({ name: node, release }) => ({ node, release })),
    completedShare: ran.length === 0 ? null : ran.filter(({ state }) => state === 'completed').length / ran.length,
    payloadSchema: payloadSchemaOf(env.registry.definition(spec.definition)?.options.payload),
    createdAt: iso(createdAt),
  }
}

/** The JSON Schema of a payload, where the library of its schema can tell it: zod does. */
function payloadSchemaOf(schema: unknown): Record<string, unknown> | null {
  if (!(schema instanceof z.ZodType)) return null
  try {
    return { ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) }
  } catch {
    return null
  }
}

function pauseScope({
  tenant,
  job,
  reason,
  by,
}: {
  tenant: string | null
  job: string | null
  reason: string | null
  by: string | null
}) {
  return { tenant, job, reason, by }
}

/** The paths of a job's payload that are hidden from the caller. */
export function hiddenPaths({ caller }: Pick<Call, 'caller'>, spec: JobRecord['spec']): readonly string[] {
  return hasRole(caller, 'admin') ? [] : (spec.defaults.redact ?? [])
}
