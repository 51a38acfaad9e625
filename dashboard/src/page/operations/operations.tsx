import type { VNode } from 'preact'
import type { WireOperation } from '../../../../src/http/wire.ts'
import { ActionDialog } from '../../action/action-dialog.tsx'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { may, tenant } from '../../data/session.ts'
import { useAsked } from '../../part/asked.ts'
import { Button } from '../../part/button.tsx'
import { Columns } from '../../part/columns.tsx'
import { State } from '../../part/glyph.tsx'
import { PageHead } from '../../part/page-head.tsx'
import { Progress } from '../../part/progress.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { Two } from '../../part/time.tsx'
import { say } from '../../shell/toast.tsx'

export function Operations(): VNode {
  const list = useQuery({
    key: ['operations', tenant.value],
    read: (signal) => api.operations({ tenant: tenant.value, limit: 50 }, signal),
    everyMs: 2000,
  })
  const aborted = useAsked<WireOperation>()
  return (
    <Loaded query={list}>
      {({ items }) => (
        <>
          <PageHead title="Operations">
            Backfills, replays and acts on many occurrences. They run on the nodes and go on when you close the page.
          </PageHead>
          <section class="card" aria-label="Operations">
            {items.length === 0 ? (
              <Empty title="No operation yet.">Retry a group of dead letters, or backfill a job: its progress shows here.</Empty>
            ) : (
              <table class="tbl cards">
                <Columns names={['Operation', 'State', 'Progress', 'By', 'Started', '']} />
                <tbody>
                  {items.map((one) => (
                    <tr key={one.id}>
                      <td class="grow">
                        <div class="two">
                          <a class="strong" href={pagePath(`occurrences/${one.id}`)}>
                            {kindWord(one.kind)} {one.job && `of ${one.job}`}
                          </a>
                          <small>{one.reason ?? one.tenant}</small>
                        </div>
                      </td>
                      <td class="nw">
                        <State mark={one.state} />
                      </td>
                      <td class="progress-cell full">
                        <Progress value={one.state === 'completed' ? 1 : (one.done ?? 0)} />
                        <span class="hint">{one.error?.message ?? one.message ?? outcome(one)}</span>
                      </td>
                      <td data-name="by">{one.by ?? '—'}</td>
                      <td class="nw">
                        <Two at={one.startedAt ?? one.createdAt} />
                      </td>
                      <td class="num">
                        {one.endedAt === null && may('operations.abort') && (
                          <Button isSmall onClick={aborted.ask(one)}>
                            Abort…
                          </Button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </section>
          {aborted.value && <AbortDialog operation={aborted.value} onClose={aborted.close} />}
        </>
      )}
    </Loaded>
  )
}

function kindWord(kind: string): string {
  return `${kind[0]?.toUpperCase()}${kind.slice(1)}`
}

function outcome({ result }: WireOperation): string {
  if (typeof result !== 'object' || result === null) return ''
  return Object.entries(result)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${value} ${name}`)
    .join(', ')
}

function AbortDialog({ operation, onClose }: { operation: WireOperation; onClose: () => void }): VNode {
  const run = async () => {
    await api.abortOperation(operation.id)
    say({ text: 'The operation stops where it stands' })
  }
  return (
    <ActionDialog
      title={`Abort the ${operation.kind}?`}
      verb="Abort"
      icon="x"
      isDanger
      command={['punctual', 'cancel', operation.id]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">It stops where it stands. What it has done already stays done.</p>
    </ActionDialog>
  )
}
