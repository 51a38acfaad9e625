import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { counted } from '../../data/count.ts'
import { pagePath } from '../../data/root.ts'
import { Copy } from '../../part/command.tsx'
import { Glyph } from '../../part/glyph.tsx'
import { At } from '../../part/time.tsx'
import { duration } from '../../time/duration.ts'
import { nodesOf } from './turn-node.ts'

export function Facts({ occurrence }: { occurrence: WireOccurrence }): VNode {
  const {
    id,
    job,
    tenant,
    version,
    entity,
    source,
    createdAt,
    scheduledAt,
    priority,
    replay,
    parent,
    children,
    turns,
    refs,
    nodeName,
    span,
  } = occurrence
  const key = occurrence.key ?? occurrence.idempotencyKey
  const ahead = Date.parse(scheduledAt) - Date.parse(createdAt)
  const nodes = nodesOf(turns, nodeName)
  return (
    <section class="card" aria-label="Facts">
      <dl class="kv">
        <dt>Id</dt>
        <dd class="row between">
          <span class="mono ell">{id}</span>
          <Copy text={id} label="" />
        </dd>
        <dt>Job</dt>
        <dd>
          <a class="link" href={pagePath(`jobs/${encodeURIComponent(tenant)}/${encodeURIComponent(job)}`)}>
            {job}
          </a>
          {version > 0 && `, version ${version}`}
        </dd>
        {key && (
          <>
            <dt>Key</dt>
            <dd class="mono">{key}</dd>
          </>
        )}
        {entity && (
          <>
            <dt>Entity</dt>
            <dd>
              <a class="link" href={pagePath('occurrences', { entity, job })}>
                {entity}
              </a>
            </dd>
          </>
        )}
        {Object.keys(refs).length > 0 && (
          <>
            <dt>Refs</dt>
            <dd>
              {Object.entries(refs)
                .map(([name, value]) => `${name} ${String(value)}`)
                .join(', ')}
            </dd>
          </>
        )}
        <dt>Source</dt>
        <dd>{source}</dd>
        <dt>Created</dt>
        <dd>
          <At at={createdAt} seconds />
          {ahead > 1000 && `, ${duration(ahead)} before due`}
        </dd>
        {span && (
          <>
            <dt>Stands for</dt>
            <dd>{counted(span.count, 'instant')}</dd>
          </>
        )}
        {nodes && (
          <>
            <dt>Nodes</dt>
            <dd>{nodes}</dd>
          </>
        )}
        <dt>Priority</dt>
        <dd>
          {priority}
          {priority === 5 && ', default'}
        </dd>
        {replay && (
          <>
            <dt>Replay of</dt>
            <dd>
              <a class="link" href={pagePath(`occurrences/${replay.origin}`)}>
                {replay.origin.slice(0, 8)}
              </a>
              : {replay.reason}
            </dd>
          </>
        )}
        {parent && (
          <>
            <dt>Parent</dt>
            <dd>
              <a class="link" href={pagePath(`occurrences/${parent.id}`)}>
                {parent.job}
              </a>
            </dd>
          </>
        )}
        {children.length > 0 && (
          <>
            <dt>Children</dt>
            <dd>
              <ul class="children">
                {children.slice(0, 12).map((child) => (
                  <li key={child.id}>
                    <a href={pagePath(`occurrences/${child.id}`)}>
                      <Glyph mark={child.state} label={child.state} /> {child.job}
                    </a>
                  </li>
                ))}
                {children.length > 12 && <li class="dim">{children.length - 12} more</li>}
              </ul>
            </dd>
          </>
        )}
      </dl>
    </section>
  )
}
