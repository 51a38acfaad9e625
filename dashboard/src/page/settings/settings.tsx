import type { VNode } from 'preact'
import { into } from '../../data/into.ts'
import { closeSession, may, server, session } from '../../data/session.ts'
import { Button } from '../../part/button.tsx'
import { Radios } from '../../part/field.tsx'
import { theme, themes } from '../../shell/theme.ts'
import { ownZone, zoneMode } from '../../time/zone.ts'
import { Tokens } from './tokens.tsx'

export function Settings(): VNode {
  const who = session.value
  const facts = server.value
  return (
    <div class="cols cols-2">
      <div class="stack">
        <section class="card" aria-label="This browser">
          <header>
            <h2>This browser</h2>
          </header>
          <div class="body stack">
            <Radios
              label="Time zone"
              value={zoneMode.value}
              values={[
                ['utc', 'UTC'],
                ['mine', `Mine: ${ownZone}`],
                ['job', 'The job’s own, where it has one'],
              ]}
              onChange={into(zoneMode)}
              hint="Redraws every time and axis. Rows and titles keep the instant in UTC."
            />
            <Radios
              label="Theme"
              value={theme.value}
              values={themes.map((one) => [one, { system: 'As the system', light: 'Light', dark: 'Dark' }[one]] as const)}
              onChange={into(theme)}
            />
          </div>
        </section>
        <section class="card" aria-label="You">
          <header>
            <h2>You</h2>
            {who?.via === 'session' && (
              <div class="end">
                <Button isSmall onClick={() => void closeSession()}>
                  Log out
                </Button>
              </div>
            )}
          </header>
          <dl class="kv">
            <dt>Name</dt>
            <dd>{who?.name}</dd>
            <dt>Role</dt>
            <dd>
              {who?.role}
              {who?.readOnly && ', read-only'}
            </dd>
            <dt>Tenants</dt>
            <dd>{who?.tenants?.join(', ') ?? 'all'}</dd>
            <dt>Access</dt>
            <dd>{who?.via === 'open' ? 'open, without a token' : who?.via}</dd>
          </dl>
        </section>
        {facts && (
          <section class="card" aria-label="Server">
            <header>
              <h2>Server</h2>
            </header>
            <dl class="kv">
              <dt>Version</dt>
              <dd>{facts.version}</dd>
              <dt>Store</dt>
              <dd>
                {facts.store.name}, {Math.max(1, Math.round(facts.store.latencyMs))} ms
              </dd>
              <dt>Zone</dt>
              <dd>{facts.timezone}</dd>
              <dt>Health</dt>
              <dd>
                {facts.health.state}
                {facts.health.reasons.length > 0 && `: ${facts.health.reasons.join('; ')}`}
              </dd>
            </dl>
          </section>
        )}
      </div>
      {may('tokens.list') && <Tokens />}
    </div>
  )
}
