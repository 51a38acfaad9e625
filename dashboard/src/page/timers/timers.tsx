import type { VNode } from 'preact'
import type { WireTimers } from '../../../../src/http/wire.ts'
import { api } from '../../data/api.ts'
import { counted, countText } from '../../data/count.ts'
import { useQuery } from '../../data/query.ts'
import { pagePath } from '../../data/root.ts'
import { tenant } from '../../data/session.ts'
import { Columns } from '../../part/columns.tsx'
import { Command } from '../../part/command.tsx'
import { Figure } from '../../part/figure.tsx'
import { State } from '../../part/glyph.tsx'
import { PageHead } from '../../part/page-head.tsx'
import { Empty, Loaded } from '../../part/screen.tsx'
import { Ago, Two } from '../../part/time.tsx'

const timerJob = 'punctual/timer'

/** Timers that other systems set over a broker: how many, which messages could not be carried out, and each service's state. */
export function Timers(): VNode {
  const timers = useQuery({
    key: ['timers', tenant.value],
    read: (signal) => api.timers({ tenant: tenant.value }, signal),
    everyMs: 5000,
  })
  return (
    <Loaded query={timers}>
      {(data) => (
        <>
          <PageHead title="Timers">
            Other systems publish <code>ScheduleTimer</code> to a broker and get <code>DueTimeReached</code> at the due instant.
          </PageHead>
          <Figures timers={data} />
          <Services instances={data.instances} />
          <Coming />
          <Poison timers={data} />
        </>
      )}
    </Loaded>
  )
}

function Figures({ timers: { pending, fired, canceled, dead, poisonCount } }: { timers: WireTimers }): VNode {
  const href = (state: string) => pagePath('occurrences', { job: timerJob, state })
  return (
    <section class="card five" aria-label="Timers by state">
      <Figure mark="pending" label="Pending" href={href('pending')} kind={pending > 0 ? '' : 'zero'} value={countText(pending)}>
        to fire
      </Figure>
      <Figure mark="completed" label="Fired" href={href('completed')} kind={fired > 0 ? '' : 'zero'} value={countText(fired)}>
        published to the broker
      </Figure>
      <Figure
        mark="canceled"
        label="Canceled"
        href={href('canceled')}
        kind={canceled > 0 ? '' : 'zero'}
        value={countText(canceled)}
      >
        by CancelTimer or a person
      </Figure>
      <Figure mark="dead" label="Dead" href={href('dead')} kind={dead > 0 ? 'fault' : 'zero'} value={countText(dead)}>
        {dead > 0 ? 'the broker refuses them' : 'none'}
      </Figure>
      <Figure mark="failed" label="Poison" href="#poison" kind={poisonCount > 0 ? 'fault' : ''} value={countText(poisonCount)}>
        messages without effect
      </Figure>
    </section>
  )
}

function Services({ instances }: { instances: WireTimers['instances'] }): VNode {
  return (
    <section class="card" aria-label="Services">
      <header>
        <h2>Services</h2>
        <span class="dim">by their last beat</span>
      </header>
      {instances.length === 0 ? (
        <Empty title="No timer service runs.">
          <Command words={['punctual', 'timers', '--store', 'sqlite:./punctual.db', '--broker', 'nats://127.0.0.1:4222']} />
        </Empty>
      ) : (
        <table class="tbl cards">
          <Columns names={['Process', 'Broker', 'Commands', 'Firing', 'Last beat']} />
          <tbody>
            {instances.map(({ node, boot, beatAt, isBeating, broker, commands, firing }) => (
              <tr key={boot}>
                <td class="strong grow">{node}</td>
                <td>
                  <Side side={broker} isBeating={isBeating} word={`${broker.name} ${broker.version ?? ''}`} />
                  {broker.warnings.map((warning) => (
                    <small class="hint" key={warning}>
                      {warning}
                    </small>
                  ))}
                </td>
                <td>
                  <Side side={commands} isBeating={isBeating} word="Takes commands" />
                </td>
                <td>
                  <Side side={firing} isBeating={isBeating} word="Fires" />
                </td>
                <td class="nw">{isBeating ? <Ago at={beatAt} /> : <State mark="late" text="Silent" />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}

interface SideProps {
  readonly side: WireTimers['instances'][number]['commands']
  readonly isBeating: boolean
  readonly word: string
}

function Side({ side, isBeating, word }: SideProps): VNode {
  if (!side) return <span class="dim">not here</span>
  if (!isBeating) return <State mark="late" text={`${word}, when last seen`} />
  return side.isOk ? <State mark="ontime" text={word} /> : <State mark="failing" text={side.reason ?? `${word}: away`} />
}

/** The timers that fire next are occurrences like any other. */
function Coming(): VNode | null {
  const { data } = useQuery({
    key: ['occurrences', timerJob, tenant.value],
    read: (signal) => api.occurrences({ job: timerJob, state: 'pending', tenant: tenant.value, limit: 10 }, signal),
  })
  if (!data || data.items.length === 0) return null
  return (
    <section class="card" aria-label="Pending timers">
      <header>
        <h2>Pending</h2>
        <span class="dim">set last</span>
        <div class="end">
          <a class="link" href={pagePath('occurrences', { job: timerJob, state: 'pending' })}>
            All
          </a>
        </div>
      </header>
      <table class="tbl cards tight">
        <tbody>
          {data.items.map((line) => (
            <tr key={line.id}>
              <td class="grow">
                <a class="strong mono" href={pagePath(`occurrences/${line.id}`)}>
                  {line.idempotencyKey ?? line.key}
                </a>
              </td>
              <td>{line.tenant}</td>
              <td class="nw">
                <Two at={line.dueAt} seconds />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Poison({ timers: { poison, poisonCount } }: { timers: WireTimers }): VNode {
  return (
    <section class="card" aria-label="Poison" id="poison">
      <header>
        <h2>Poison</h2>
        <span class="dim">messages that could not be carried out</span>
        <div class="end dim">{poisonCount > poison.length && `the newest ${poison.length} of ${countText(poisonCount)}`}</div>
      </header>
      {poison.length === 0 ? (
        <Empty title="Every message could be carried out.">
          One that cannot, such as invalid JSON, is kept here with its reason and body.
        </Empty>
      ) : (
        <table class="tbl cards tight" aria-label={counted(poisonCount, 'message')}>
          <tbody>
            {poison.map(({ id, at, reason }) => (
              <tr key={id}>
                <td class="nw">
                  <Two at={at} seconds />
                </td>
                <td class="reason grow full">{reason ?? 'no reason is known'}</td>
                <td class="num">
                  <a class="link" href={pagePath(`occurrences/${id}`)}>
                    Body
                  </a>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  )
}
