import type { VNode } from 'preact'
import type { WireOccurrence } from '../../../../src/http/wire.ts'
import { Copy } from '../../part/command.tsx'
import { JsonView, jsonText } from '../../part/json-view.tsx'

export function Payload({ occurrence: { payload, payloadBytes, redacted } }: { occurrence: WireOccurrence }): VNode {
  const isHidden = payload === null && redacted.length === 0 && payloadBytes > 4
  return (
    <section class="card" aria-label="Payload">
      <header>
        <h2>Payload</h2>
        <span class="dim">{payloadBytes > 0 && `${payloadBytes.toLocaleString('en-US')} B`}</span>
        {payload !== null && payload !== undefined && (
          <div class="end">
            <Copy text={jsonText(payload)} />
          </div>
        )}
      </header>
      {payload === null || payload === undefined ? (
        <p class="body dim">{isHidden ? 'Hidden for your role.' : 'None.'}</p>
      ) : (
        <JsonView value={payload} label="Payload" />
      )}
      {redacted.length > 0 && <p class="card-foot hint">Hidden: {redacted.join(', ')}</p>}
    </section>
  )
}

export function Result({ occurrence: { result, tasks } }: { occurrence: WireOccurrence }): VNode {
  const kept = tasks.filter((task) => task.state === 'succeeded' && task.result !== null && task.result !== undefined)
  return (
    <section class="card" aria-label="Result">
      <header>
        <h2>Result</h2>
      </header>
      {result !== null && result !== undefined ? (
        <JsonView value={result} label="Result" />
      ) : (
        <p class={`body dim ${kept.length > 0 ? 'above' : ''}`}>
          {kept.length > 0 ? 'None. Tasks that succeeded kept theirs:' : 'None.'}
        </p>
      )}
      {(result === null || result === undefined) && kept.length > 0 && (
        <JsonView value={Object.fromEntries(kept.map((task) => [task.name, task.result]))} label="Results of tasks" />
      )}
    </section>
  )
}
