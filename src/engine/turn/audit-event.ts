import { systemActor } from '../../model/audit.ts'
import type { Refs } from '../../model/context.ts'
import { attemptId, taskRunId } from '../../model/ids.ts'
import { checkKey, checkName, checkObject } from '../../model/limits.ts'
import { encodePayload } from '../../model/payload.ts'
import type { AuditEvent } from '../../store/store.ts'
import type { Attempt } from './attempt.ts'

/** The n-th business event of an attempt. Its id is the same each time it is written. */
export function auditEvent(
  { turn: { record, redactor }, run, n: attempt }: Attempt,
  n: number,
  { event, refs = {}, data }: { readonly event: string; readonly refs: Refs | undefined; readonly data: unknown },
): AuditEvent {
  checkObject(refs, 'refs')
  for (const [name, ref] of Object.entries(refs)) checkKey(ref, `refs.${name}`)
  const text = encodePayload(data, 'data')
  return {
    act: `${attemptId(taskRunId(record.id, run.name), attempt)}/${n}`,
    target: record.id,
    actor: systemActor,
    action: 'event',
    tenant: record.tenant,
    job: record.job,
    before: null,
    after: null,
    reason: null,
    event: checkName(event, 'event'),
    refs: JSON.stringify(refs),
    data: text !== null && redactor ? JSON.stringify(redactor.value(JSON.parse(text))) : text,
  }
}
