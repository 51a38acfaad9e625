import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireJob, WireVersion } from '../../../../src/http/wire.ts'
import { RollbackDialog } from '../../action/job-actions.tsx'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { may } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Icon } from '../../part/icon.tsx'
import { Loaded } from '../../part/screen.tsx'
import { Ago } from '../../part/time.tsx'

/** The versions of the job, each with its changes. */
export function Versions({ job }: { job: WireJob }): VNode {
  const versions = useQuery({
    key: ['job', job.tenant, job.name, 'versions', job.version],
    read: (signal) => api.versions(job, signal),
    keepsLast: true,
  })
  const open = useSignal<number | null>(job.version)
  const back = useSignal<number | null>(null)
  return (
    <section class="card" aria-label="Versions">
      <header>
        <h2>Versions</h2>
        <span class="dim">{job.version}</span>
      </header>
      <Loaded query={versions}>
        {({ items }) => (
          <ul class="ver">
            {items.toReversed().map((version) => (
              <li key={version.version} class={open.value === version.version && version.changes.length > 0 ? 'open' : ''}>
                <Icon name={version.by ? 'user' : 'code'} />
                <b>v{version.version}</b>
                <button
                  type="button"
                  class="plain ell"
                  aria-expanded={open.value === version.version}
                  onClick={() => {
                    open.value = open.value === version.version ? null : version.version
                  }}
                >
                  {title(version)} <span class="dim">by {version.by ?? 'code'}</span>
                </button>
                <span class="row dim nw">
                  <Ago at={version.createdAt} isRough />
                  {version.version !== job.version && may('jobs.rollback') && (
                    <Button
                      isSmall
                      onClick={() => {
                        back.value = version.version
                      }}
                    >
                      Roll back…
                    </Button>
                  )}
                </span>
                {open.value === version.version && version.changes.length > 0 && <Diff version={version} />}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {back.value !== null && (
        <RollbackDialog
          job={job}
          version={back.value}
          onClose={() => {
            back.value = null
          }}
        />
      )}
    </section>
  )
}

function title({ version, changes, scheduleText }: WireVersion): string {
  if (version === 1 || changes.length === 0) return scheduleText ? `declared: ${scheduleText}` : 'declared'
  const [first] = changes
  const fields = [...new Set(changes.map(({ field }) => field.split('.')[0]))]
  return changes.length === 1 && first && isShort(first.from) && isShort(first.to)
    ? `${first.field} ${shown(first.from)} → ${shown(first.to)}`
    : fields.join(', ')
}

const isShort = (value: unknown) => typeof value !== 'object' || value === null
const shown = (value: unknown) =>
  value === null || value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)

function Diff({ version }: { version: WireVersion }): VNode {
  return (
    <div class="diff">
      {version.changes.slice(0, 20).map(({ field, from, to }) => (
        <>
          {from !== null && (
            <div class="del" key={`${field}-`}>
              <span>−</span>
              <span class="k">{field}</span>
              <span>{shown(from)}</span>
            </div>
          )}
          {to !== null && (
            <div class="add" key={`${field}+`}>
              <span>+</span>
              <span class="k">{field}</span>
              <span>{shown(to)}</span>
            </div>
          )}
        </>
      ))}
    </div>
  )
}
