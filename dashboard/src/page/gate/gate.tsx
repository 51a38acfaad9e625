import type { VNode } from 'preact'
import { useLocation } from 'preact-iso'
import type { WireGate } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { may, tenant } from '../../data/session.ts'
import { useAsked } from '../../part/asked.ts'
import { Button } from '../../part/button.tsx'
import { Columns } from '../../part/columns.tsx'
import { Glyph, State } from '../../part/glyph.tsx'
import type { Mark } from '../../part/mark.ts'
import { Message } from '../../part/message.tsx'
import { PageHead } from '../../part/page-head.tsx'
import { Pager } from '../../part/pager.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { TenantSelect } from '../../part/tenant-select.tsx'
import { At, Two } from '../../part/time.tsx'
import { ResolveDialog } from './resolve-dialog.tsx'

const states = ['unknown', 'reserved', 'done'] as const
type GateState = (typeof states)[number]
const marks: Readonly<Record<GateState, Mark>> = { unknown: 'late', reserved: 'running', done: 'completed' }
const words: Readonly<Record<GateState, string>> = { unknown: 'Unknown', reserved: 'Under way', done: 'Happened' }

/** Keys of effects that happen once. Unknown outcomes come first: only a person can resolve them. */
export function Gate(): VNode {
  const { query, route } = useLocation()
  const state = states.find((one) => one === query.state) ?? 'unknown'
  const cursor = query.cursor ?? ''
  const gates = useQuery({
    key: ['gates', tenant.value, state, cursor],
    read: (signal) => api.gates({ state, cursor, tenant: tenant.value, limit: 50 }, signal),
    keepsLast: true,
    everyMs: 5000,
  })
  const resolved = useAsked<WireGate>()
  return (
    <>
      <PageHead title="Gate">
        Effects that must happen once: charges, mails, transfers. When a process dies in the middle of one, its outcome is
        unknown, and the work waits for your answer.
      </PageHead>
      <div class="row wrap filters">
        <TenantSelect />
      </div>
      <section class="card" aria-label="Effects">
        <nav class="tabs" aria-label="States">
          {states.map((one) => (
            <a key={one} href={pagePath('gate', { state: one })} {...(one === state && { 'aria-current': 'true' as const })}>
              <Glyph mark={marks[one]} />
              {words[one]}
            </a>
          ))}
        </nav>
        <Loaded query={gates}>
          {({ items, cursor: next }) => (
            <>
              {items.length === 0 ? (
                <Empty title={state === 'unknown' ? 'No outcome is unknown.' : 'No effect is here.'}>
                  {state === 'unknown' ? (
                    'Should a process die between an effect and its record, you decide here whether it happened.'
                  ) : (
                    <>
                      A handler makes an effect happen once with <code>ctx.once(key, effect)</code>.
                    </>
                  )}
                </Empty>
              ) : (
                <GateTable items={items} state={state} ask={resolved.ask} />
              )}
              <Pager isFirst={!cursor} next={next ? () => route(pagePath('gate', { state, cursor: next })) : null}>
                {items.length} shown
              </Pager>
            </>
          )}
        </Loaded>
      </section>
      {resolved.value && <ResolveDialog gate={resolved.value} onClose={resolved.close} />}
    </>
  )
}

/** Without the code in front: `timeout: It took longer …`. */
function sentenceOf(reason: string): string {
  return reason.replace(/^[a-z-]+: (?=[A-Z])/, '')
}

function GateTable({
  items,
  state,
  ask,
}: {
  items: readonly WireGate[]
  state: GateState
  ask: (gate: WireGate) => () => void
}): VNode {
  return (
    <table class="tbl cards">
      <Columns names={['Key', 'State', 'Reserved', 'Work', state === 'done' ? 'Repeats' : 'Why', '']} />
      <tbody>
        {items.map((gate) => (
          <tr key={`${gate.tenant} ${gate.scope} ${gate.key}`}>
            <td class="grow">
              <div class="two">
                <b class="strong mono wrap-any">{gate.key}</b>
                <small>
                  {gate.tenant !== 'default' && `${gate.tenant} · `}
                  {gate.scope === gate.occurrence ? 'this occurrence alone' : `scope ${gate.scope}`}
                </small>
              </div>
            </td>
            <td class="nw">
              <State mark={marks[state]} text={words[state]} />
            </td>
            <td class="nw">
              <Two at={gate.reservedAt} seconds />
            </td>
            <td class="nw">
              {gate.occurrence ? (
                <div class="two">
                  <a class="link" href={pagePath(`occurrences/${gate.occurrence}`)}>
                    {gate.job ?? gate.occurrence.slice(0, 8)}
                  </a>
                  {gate.occurrenceKey && <small class="mono">{gate.occurrenceKey}</small>}
                </div>
              ) : (
                <span class="dim">outside of jobs</span>
              )}
            </td>
            <td class="reason">
              {state === 'done' ? (
                <span class="dim">
                  {gate.hits > 0 ? `returned ${gate.hits} more times` : 'none'}
                  {gate.expiresAt && (
                    <>
                      , forgotten <At at={gate.expiresAt} />
                    </>
                  )}
                </span>
              ) : (
                gate.reason && <Message text={sentenceOf(gate.reason)} />
              )}
            </td>
            <td class="num">
              {state === 'unknown' && may('gates.resolve') && (
                <Button isSmall kind="primary" onClick={ask(gate)}>
                  Resolve…
                </Button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
