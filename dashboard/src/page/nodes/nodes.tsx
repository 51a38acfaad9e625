import { useSignal } from '@preact/signals'
import type { VNode } from 'preact'
import type { WireNode } from '../../../../src/http/wire.ts'
import { ActionDialog, Warning } from '../../action/action-dialog.tsx'
import { api } from '../../data/api.ts'
import { counted } from '../../data/count.ts'
import { into } from '../../data/into.ts'
import { refresh, useQuery } from '../../data/query.ts'
import { may, server } from '../../data/session.ts'
import { useAsked } from '../../part/asked.ts'
import { Button } from '../../part/button.tsx'
import { Columns } from '../../part/columns.tsx'
import { Command } from '../../part/command.tsx'
import { TextField } from '../../part/field.tsx'
import { Glyph, State } from '../../part/glyph.tsx'
import { PageHead } from '../../part/page-head.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { Ago, At } from '../../part/time.tsx'
import { say } from '../../shell/toast.tsx'

export function Nodes(): VNode {
  const nodes = useQuery({ key: ['nodes'], read: (signal) => api.nodes(signal), everyMs: 5000 })
  const drained = useAsked<WireNode>()
  return (
    <Loaded query={nodes}>
      {({ items, unserved }) => (
        <>
          <PageHead title={counted(live(items), 'node runs', 'nodes run')}>
            A node is a process that plans and runs work. Nodes send heartbeats; when they stop, other nodes take over within 20
            s.
          </PageHead>
          {unserved.length > 0 && (
            <div class="note s-late" role="status">
              <Glyph mark="late" />
              <div>
                <b>No live node can run {unserved.join(', ')}.</b> Work of it is due and waits. Start a node whose code has all of
                its handlers.
              </div>
            </div>
          )}
          <section class="card" aria-label="Nodes">
            {items.length === 0 ? (
              <Empty title="No node runs.">Nothing is planned or started until one does.</Empty>
            ) : (
              <table class="tbl cards nodes">
                <Columns names={['Node', 'State', 'Load', 'Version', 'Last beat', 'Started', 'Runs', '']} />
                <tbody>
                  {items.map((node) => (
                    <tr key={node.boot}>
                      <td class="grow">
                        <div class="two">
                          <b class="strong">{node.name}</b>
                          <small class="mono">
                            {node.boot.slice(0, 8)} · pid {node.pid}
                          </small>
                        </div>
                      </td>
                      <td class="nw">
                        <State
                          mark={node.beating ? (node.draining ? 'waiting' : 'ontime') : 'late'}
                          text={node.beating ? (node.draining ? 'Draining' : 'Alive') : 'Silent'}
                        />
                      </td>
                      <td class="nw">
                        <div class="load">
                          <svg width="84" height="8" role="img" aria-label={`${node.running} of ${node.concurrency} slots`}>
                            <rect class="m-empty" width="84" height="8" rx="2" />
                            <rect
                              class="m-running"
                              width={(node.running / Math.max(1, node.concurrency)) * 84}
                              height="8"
                              rx="2"
                            />
                          </svg>
                          {node.running} of {node.concurrency}
                        </div>
                      </td>
                      <td class="nw">
                        <div class="two">
                          {node.version}
                          <small>{node.release === null ? 'no release' : `release ${node.release}`}</small>
                        </div>
                      </td>
                      <td class="nw" data-name="beat">
                        <Ago at={node.beatAt} />
                      </td>
                      <td class="nw" data-name="since">
                        <At at={node.startedAt} />
                      </td>
                      <td class="reason dim full">
                        <Names names={node.definitions.filter((name) => !name.startsWith('punctual/'))} />
                      </td>
                      <td class="num">
                        {node.beating && !node.draining && may('nodes.drain') && (
                          <Button isSmall onClick={drained.ask(node)}>
                            Drain…
                          </Button>
                        )}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </section>
          {drained.value && <DrainDialog node={drained.value} live={live(items)} onClose={drained.close} />}
          <div class="field max-w-150">
            <span class="label dim">Add a node: start another process on the same store</span>
            <Command words={['punctual', 'serve', '--store', storeExample(), '--jobs', './jobs.ts']} />
          </div>
        </>
      )}
    </Loaded>
  )
}

/** An address of the kind of store that the server has. */
function storeExample(): string {
  return server.value?.store.name === 'postgres' ? 'postgres://user@host/database' : 'sqlite:./punctual.db'
}

function live(nodes: readonly WireNode[]): number {
  return nodes.filter(({ beating }) => beating).length
}

const shownNames = 14

function Names({ names }: { names: readonly string[] }): VNode {
  const isOpen = useSignal(false)
  if (isOpen.value || names.length <= shownNames) return <>{names.join(', ')}</>
  return (
    <>
      {names.slice(0, shownNames).join(', ')}{' '}
      <button
        type="button"
        class="plain link"
        onClick={() => {
          isOpen.value = true
        }}
      >
        and {names.length - shownNames} more
      </button>
    </>
  )
}

function DrainDialog({ node, live: count, onClose }: { node: WireNode; live: number; onClose: () => void }): VNode {
  const reason = useSignal('')
  const run = async () => {
    await api.drainNode(node.boot, reason.value ? { reason: reason.value } : {})
    refresh('nodes')
    say({ text: `${node.name} drains` })
  }
  return (
    <ActionDialog
      title={`Drain ${node.name}?`}
      verb="Drain"
      isDanger={count === 1}
      command={['punctual', 'nodes', 'drain', node.boot, ...(reason.value ? ['--reason', reason.value] : [])]}
      run={run}
      onClose={onClose}
    >
      <p class="sec">
        It finishes {node.running === 0 ? 'nothing: no work runs there' : counted(node.running, 'running occurrence')} and takes
        no more work. A process of <code>punctual serve</code> then exits.
      </p>
      {count === 1 && (
        <Warning>
          <b>It is the only node.</b> Nothing starts until another one does.
        </Warning>
      )}
      <TextField label="Reason, kept in the audit" value={reason.value} onInput={into(reason)} isFocused />
    </ActionDialog>
  )
}
